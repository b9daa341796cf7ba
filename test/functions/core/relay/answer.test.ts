import { afterEach, describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { mapAnswer, refuseMismatch } from '../../../../functions/core/relay/answer.ts';
import type { UpstreamAnswer } from '../../../../functions/core/relay/call.ts';
import type { UnusableBody } from '../../../../functions/core/relay/content-coding.ts';
import { openRedactor } from '../../../../functions/core/relay/redact.ts';
import { narrowRefusal } from '../../../../functions/core/relay/select-fields.ts';
import { ApiError } from '../../../../functions/core/runtime/api-error.ts';
import { type ErrorCode, errorTable } from '../../../../schemas/errors.ts';
import type { Intent } from '../../../../schemas/intent.ts';
import type { Parameter } from '../../../../schemas/parameter.ts';

const total: Parameter = { name: 'total', type: 'number', required: true };
const note: Parameter = { name: 'note', type: 'string' };
const endpoint: Intent['endpoint'] = { url: 'https://up.example/orders', method: 'POST', content_type: 'application/json' };

type Answer = Partial<UpstreamAnswer> & { contentType?: string };

const answerOf = (status: number, body: string | Buffer, { contentType, headers, ...more }: Answer = {}): UpstreamAnswer => ({
  status,
  headers: { ...headers, ...(contentType !== undefined && { 'content-type': contentType }) },
  url: 'https://up.example/orders/1',
  body: Buffer.from(body),
  redactor: openRedactor(undefined),
  durationMs: 1,
  ...more,
});

const map = (status: number, body: string | Buffer, outputs: Parameter[] = [], more: Answer = {}, intent: Partial<Intent> = {}) =>
  mapAnswer(answerOf(status, body, more), { endpoint, output_parameters: outputs, ...intent });

function refusal(call: () => unknown): ApiError {
  try {
    call();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

const show = ({ code, status, message, details, headers }: ApiError) => ({ code, status, message, details, headers });

afterEach(() => {
  jest.restoreAllMocks();
});

describe('answers in the 200s', () => {
  test.each<[number, string, Parameter[], string]>([
    [200, '{"total":1,"more":[true]}', [total], '{"total":1,"more":[true]}'],
    [201, '{"total":1.5,"note":null}', [total, note], '{"total":1.5,"note":null}'],
    [200, '{"total":9007199254740993,"price":1.10,"far":1e400}', [total], '{"total":9007199254740993,"price":1.10,"far":1e400}'],
    [200, `{"total":${'9'.repeat(1_000_000)}}`, [total], `{"total":${'9'.repeat(1_000_000)}}`],
    [200, '\ufeff{"total":1}', [total], '{"total":1}'],
    [204, '', [], '{}'],
    [200, '', [note], '{}'],
    [202, '{"error":{"code":"UNAUTHORIZED","message":"forged"}}', [], '{"error":{"code":"UNAUTHORIZED","message":"forged"}}'],
    [200, '[1,2]', [{ name: 'list', type: 'array', required: true }], '{"list":[1,2]}'],
    [200, '[]', [], '{"items":[]}'],
    [200, '"text"', [note], '{"note":"text"}'],
    [200, '12345678901234567890', [], '{"value":12345678901234567890}'],
    [200, 'null', [{ name: 'nothing', type: 'null' }], '{"nothing":null}'],
    [200, '{"toString":1}', [], '{"toString":1}'],
    [200, `${'['.repeat(200)}1${']'.repeat(200)}`, [], `{"items":${'['.repeat(200)}1${']'.repeat(200)}}`],
  ])('an answer in the 200s is passed on: %i, case %#', (status, body, outputs, expected) => {
    const mapped = map(status, body, outputs, { contentType: 'application/json' });
    expect(mapped.issues).toEqual([]);
    expect(JSON.stringify(mapped.body)).toBe(expected);
  });

  const csv = 'a;b\r\n1;"ü"\n';
  const png = Buffer.from('89504e470d0a1a0a0000ff', 'hex');
  const bytes = (content: Buffer | string, type: string) => ({ base64: Buffer.from(content).toString('base64'), content_type: type });
  const text = (value: string, type: string) => ({ value, content_type: type });

  test.each<[string, string | undefined, string | Buffer, unknown]>([
    ['text', 'text/csv', csv, text(csv, 'text/csv')],
    ['text with a charset', 'Text/CSV; charset=UTF-8; header=present', csv, text(csv, 'text/csv')],
    ['Latin-1 that says so', 'text/plain; charset=ISO-8859-1', Buffer.from('ü', 'latin1'), text('ü', 'text/plain')],
    ['UTF-16 that says so', 'text/plain;charset="utf-16le"', Buffer.from('ü', 'utf16le'), text('ü', 'text/plain')],
    ['Latin-1 that does not', 'text/plain', Buffer.from('ü', 'latin1'), bytes(Buffer.from('ü', 'latin1'), 'text/plain')],
    ['a charset that nobody knows', 'text/plain; charset=klingon', 'ü', text('ü', 'text/plain')],
    ['bytes in a charset that nobody knows', 'text/plain; charset=klingon', png, bytes(png, 'text/plain')],
    ['256 KB of text', 'text/plain', 'x'.repeat(262_144), text('x'.repeat(262_144), 'text/plain')],
    ['more of it', 'text/plain', 'x'.repeat(262_145), bytes('x'.repeat(262_145), 'text/plain')],
    ['HTML', 'text/html', '<!doctype html>', text('<!doctype html>', 'text/html')],
    ['XML', 'application/atom+xml', '<a/>', text('<a/>', 'application/atom+xml')],
    ['JSON lines', 'application/x-ndjson', '{"a":1}\n{"a":2}\n', text('{"a":1}\n{"a":2}\n', 'application/x-ndjson')],
    ['events', 'text/event-stream', 'data: {}\n\n', text('data: {}\n\n', 'text/event-stream')],
    ['an image', 'image/png', png, bytes(png, 'image/png')],
    ['bytes that could be text', 'application/octet-stream', '{"a":1}', bytes('{"a":1}', 'application/octet-stream')],
    ['a type that is none', '%$&; /', png, bytes(png, 'application/octet-stream')],
    ['JSON without a type', undefined, '{"a":1}', { a: 1 }],
    ['text without a type', undefined, 'a: 1', text('a: 1', 'text/plain')],
    ['bytes without a type', undefined, png, bytes(png, 'application/octet-stream')],
    ['JSON that is said to be text', 'text/plain; charset=utf-8', '{"a":[1.10]}', { a: [expect.anything()] }],
    ['a list that is said to be HTML', 'text/html', '[1]', { items: [1] }],
    ['a number that is said to be text', 'text/plain', '1', text('1', 'text/plain')],
    ['JSON that is said to be CSV', 'text/csv', '{"a":1}', text('{"a":1}', 'text/csv')],
    ['another kind of JSON', 'application/vnd.api+json; version=1', '{"data":[]}', { data: [] }],
    ['JSON in Latin-1 that says so', 'application/json; charset=latin1', Buffer.from('{"a":"ü"}', 'latin1'), { a: 'ü' }],
    ['JSON in UTF-8 that says ISO-8859-1', 'application/json;charset=ISO-8859-1', '{"a":"ü"}', { a: 'ü' }],
    ['JSON in UTF-8 that says windows-1252', 'application/problem+json; charset="windows-1252"', '{"a":"ü"}', { a: 'ü' }],
    ['JSON in UTF-8 that says us-ascii', "text/json; charset='us-ascii'", '["ü"]', { items: ['ü'] }],
    ['JSON in UTF-8 that says UTF-16', 'application/json; charset=utf-16', '{"a":"ü"}', { a: 'ü' }],
    ['JSON in UTF-8 with a charset that nobody knows', 'application/json; charset=none', '{"a":"ü"}', { a: 'ü' }],
    ['JSON in UTF-8 that says that it is text in Latin-1', 'text/plain; charset=latin1', '{"a":"ü"}', { a: 'ü' }],
    ['JSON in UTF-16 that says so', 'application/json; charset=utf-16le', Buffer.from('{"a":"ü"}', 'utf16le'), { a: 'ü' }],
    ['nothing that is said to be JSON', 'application/json', '', {}],
  ])('the content of an answer in the 200s is passed on: %s', (_, contentType, body, expected) => {
    expect(map(200, body, [], contentType === undefined ? {} : { contentType })).toEqual({ body: expected, issues: [] });
  });

  test('a text is not taken for JSON if the intent promises text', () => {
    const outputs: Parameter[] = [
      { name: 'value', type: 'string' },
      { name: 'content_type', type: 'string' },
    ];
    expect(map(200, '{"a":1}', outputs, { contentType: 'text/plain' })).toEqual({ body: text('{"a":1}', 'text/plain'), issues: [] });
  });

  test('JSON that is not UTF-8 is passed on as bytes, and reported', () => {
    const bytes = Buffer.from('{"a":"\xff"}', 'latin1');
    expect(map(200, bytes, [], { contentType: 'application/json' })).toEqual({
      body: { base64: bytes.toString('base64'), content_type: 'application/json' },
      issues: [{ path: '/base64', problem: 'is bytes, because it is not unambiguous JSON with at most 200 levels' }],
    });
  });

  test.each<[string, string | Buffer, contentType?: string]>([
    ['half an object', '{"total":'],
    ['duplicate members', '{"total":1,"total":2}'],
    ['__proto__', '{"__proto__":{"admin":true},"total":1}'],
    ['depth', '['.repeat(5000) + ']'.repeat(5000)],
    ['NaN', 'NaN'],
    ['a lone surrogate', '"\\ud800"'],
    ['two documents', '{}{}'],
    ['duplicate members in UTF-8 that says Latin-1', '{"ü":1,"ü":2}', 'application/json; charset=latin1'],
  ])(
    'JSON that readers could read differently is passed on as the text that it is, and reported: %s',
    (_, body, contentType = 'application/json') => {
      expect(map(200, body, [], { contentType })).toEqual({
        body: { value: String(body), content_type: 'application/json' },
        issues: [{ path: '/value', problem: 'is text, because it is not unambiguous JSON with at most 200 levels' }],
      });
    },
  );

  test('JSON that is no UTF-8, and much that is no JSON, is passed on as bytes', () => {
    const contentType = 'application/json';
    const broken = Buffer.from([0x22, 0xff, 0x22]);
    expect(map(200, broken, [], { contentType }).body).toEqual(bytes(broken, contentType));
    expect(map(200, '['.repeat(1_000_000), [], { contentType }).body).toEqual(bytes('['.repeat(1_000_000), contentType));
  });

  test.each<{ what: string; body: string; outputs: Parameter[]; expected: unknown; problem: string }>([
    { what: 'a missing member', body: '{}', outputs: [total], expected: {}, problem: 'is required and must be a number' },
    { what: 'a member of another type', body: '{"total":"1"}', outputs: [total], expected: { total: '1' }, problem: 'must be a number' },
    { what: 'a scalar of another type', body: '"1"', outputs: [total], expected: { total: '1' }, problem: 'must be a number' },
    {
      what: 'a scalar with two places',
      body: '1',
      outputs: [total, note],
      expected: { value: 1 },
      problem: 'is required and must be a number',
    },
  ])('an answer in the 200s is passed on, and what does not match is named: $what', ({ body, outputs, expected, problem }) => {
    expect(map(200, body, outputs)).toEqual({ body: expected, issues: [{ path: '/total', problem }] });
  });

  test('no more of an answer is passed on than may leave', () => {
    const body = '{"name":"x","customer":{"iban":"DE1","email":"a@b"},"items":[{"price":1.10,"cost":1}]}';
    const fields = ['/name', '/items/price'];
    expect(JSON.stringify(map(200, body, [], {}, { fields }).body)).toBe('{"name":"x","items":[{"price":1.10}]}');
    expect(map(200, csv, [], { contentType: 'text/csv' }, { fields }).body).toEqual({});
    expect(map(200, '', [], {}, { fields }).body).toEqual({});
  });

  test('a strict intent refuses a mismatch, and says that the call was executed', () => {
    const answer = answerOf(201, '{"order":"A1","secret":1}');
    const issues = [{ path: '/total', problem: 'must be a number' }];
    expect(show(refuseMismatch(answer, issues, { endpoint, output_parameters: [total], fields: ['/order'] }))).toEqual({
      code: 'INTENT_EXECUTION_FAILED',
      status: 502,
      message:
        "The call was executed, but the answer of the intent's endpoint does not match the intent's output_parameters. Do not send the call again.",
      details: { upstream_status: 201, outcome: 'executed', issues, upstream_body: { order: 'A1' } },
      headers: {},
    });
  });

  const failed = ['INTENT_EXECUTION_FAILED', 502] as const;
  test.each<[UnusableBody, ErrorCode, number, string]>([
    ['answer_too_large', ...failed, 'has more than 1048576 bytes. If the intent has a parameter for it, request less next time'],
    ['broken_answer', ...failed, 'was incomplete or unreadable'],
    ['deadline', 'GATEWAY_TIMEOUT', 504, 'did not end in time'],
  ])('an answer with an unusable body does not mean that the call failed: %s', (unusable, code, status, problem) => {
    expect(show(refusal(() => map(200, '', [total], { unusable })))).toEqual({
      code,
      status,
      message: `The call was executed, but the answer of the intent's endpoint ${problem}. Do not send the call again.`,
      details: { upstream_status: 200, outcome: 'executed', reason: unusable },
      headers: {},
    });
    expect(refusal(() => map(404, '', [total], { unusable })).details).toEqual({ upstream_status: 404 });
  });
});

test.each<[string | undefined, string | undefined]>([
  ['https://other.example/a/b?token=x#frag', 'https://other.example/a/b'],
  ['https://name:password@other.example/', 'https://other.example/'],
  ['/login?next=%2F', 'https://up.example/login'],
  ['../2', 'https://up.example/2'],
  ['//other.example', 'https://other.example/'],
  ['javascript:alert(1)', undefined],
  ['https://[', undefined],
  [`/${'x'.repeat(3000)}`, undefined],
  [undefined, undefined],
])('a redirect says where it leads, without what may be a secret: %s', (location, shown) => {
  const { details } = refusal(() => map(307, 'ignored', [], location === undefined ? {} : { headers: { location } }));
  expect(details).toEqual({ upstream_status: 307, outcome: 'unknown', ...(shown !== undefined && { location: shown }) });
});

describe('other statuses', () => {
  const failed =
    "The intent's endpoint failed. It may have acted on the call; check this before you send it again, or tell the service's operators.";
  const redirects =
    "The intent's endpoint sent a redirect, which the gate does not follow. It may have acted on the call; check this before you send it again, and tell the service's operators.";
  const parametersRefused = "The intent's endpoint refused the parameters.";
  const notLetIn = "The intent's endpoint denied access to this gate. Tell the service's operators.";
  const denied = "The intent's endpoint denied the call. Unless the parameters are the cause, tell the service's operators.";
  const notSupported = "The intent's endpoint does not support the operation. Tell the service's operators.";
  const noEndpoint = "The intent's endpoint no longer exists. Search for another intent.";
  const busy = "The intent's endpoint is not accepting calls at the moment. Try again after Retry-After.";
  const saysWhy = ' details.upstream_body says why.';

  test.each<[number, ErrorCode, number, string]>([
    [301, 'INTENT_EXECUTION_FAILED', 502, redirects],
    [400, 'INTENT_EXECUTION_FAILED', 422, parametersRefused],
    [401, 'INTENT_EXECUTION_FAILED', 502, notLetIn],
    [403, 'INTENT_EXECUTION_FAILED', 502, denied],
    [405, 'INTENT_NOT_SUPPORTED', 501, notSupported],
    [410, 'INTENT_DEPRECATED', 410, noEndpoint],
    ...[402, 407, 408, 421, 425, 426, 431, 451].map((status): [number, ErrorCode, number, string] => [
      status,
      'INTENT_EXECUTION_FAILED',
      422,
      `The intent's endpoint refused the call with status ${status}. The parameters need not be the cause.`,
    ]),
    [499, 'INTENT_EXECUTION_FAILED', 422, parametersRefused],
    [500, 'INTENT_EXECUTION_FAILED', 502, failed],
    [501, 'INTENT_NOT_SUPPORTED', 501, notSupported],
    [999, 'INTENT_EXECUTION_FAILED', 502, failed],
  ])('the status %i is refused, and shows the reason if the service gives one', (upstreamStatus, code, status, message) => {
    const details = { upstream_status: upstreamStatus, ...([failed, redirects].includes(message) && { outcome: 'unknown' }) };
    expect(show(refusal(() => map(upstreamStatus, '')))).toEqual({ code, status, message, details, headers: {} });
    const upstream_body = { why: 'it is archived' };
    expect(show(refusal(() => map(upstreamStatus, JSON.stringify(upstream_body))))).toEqual(
      upstreamStatus < 400
        ? { code, status, message, details, headers: {} }
        : { code, status, message: message + saysWhy, details: { ...details, upstream_body }, headers: {} },
    );
  });

  const gone = 'The service says that this is gone. Do not send the call again with the same parameters.';
  test.each<[string, ErrorCode, number, string]>([
    ['https://up.example/orders', 'INTENT_DEPRECATED', 410, noEndpoint],
    ['https://up.example/orders{?page}', 'INTENT_DEPRECATED', 410, noEndpoint],
    ['https://up.example/orders?state=open&after={after}', 'INTENT_DEPRECATED', 410, noEndpoint],
    ['https://up.example/orders/{id}', 'INTENT_EXECUTION_FAILED', 422, gone],
    ['https://up.example/orders/{id}/lines{?page}', 'INTENT_EXECUTION_FAILED', 422, gone],
    ['https://up.example/orders/{id}.json', 'INTENT_EXECUTION_FAILED', 422, gone],
  ])('the status 410 means that the intent is gone only if its address has no variable path: %s', (url, code, status, message) => {
    expect(show(refusal(() => map(410, '', [], {}, { endpoint: { ...endpoint, url } })))).toEqual({
      code,
      status,
      message,
      details: { upstream_status: 410 },
      headers: {},
    });
  });

  test('304 means that the caller has the answer already, even if outputs are required', () => {
    expect(map(304, '', [total])).toEqual({ body: {}, issues: [] });
  });

  const seconds = (headers: Record<string, string>, status: number) => {
    jest.spyOn(Date, 'now').mockReturnValue(Date.parse('2026-11-26T08:00:00Z'));
    const { details, headers: answered } = refusal(() => map(status, '', [], { headers }));
    expect(answered).toEqual(details.retry_after_seconds === undefined ? {} : { 'Retry-After': String(details.retry_after_seconds) });
    return details.retry_after_seconds;
  };

  test.each<[string, number]>([
    ['30', 30],
    ['0', 1],
    ['65.5', 66],
    ['0.493', 1],
    ['1e9', 5],
    ['1000000000', 3600],
    ['-1', 5],
    ['', 5],
    ['soon', 5],
    ['Thu, 26 Nov 2026 08:01:30 GMT', 90],
    ['Thursday, 26-Nov-26 08:01:30 GMT', 90],
    ['Thu Nov 26 08:01:30 2026', 90],
    ['Thu, 26 Nov 2026 09:01:30 +0100', 90],
    ['2026-11-26T08:01:30Z', 90],
    ['Thu, 26 Nov 2026 07:59:00 GMT', 1],
    ['Wed, 21 Oct 2099 07:28:00 GMT', 3600],
    ['Thu, 99 Nov 2026 08:01:30 GMT', 5],
    ['99999999999999999999', 3600],
    ['9'.repeat(400), 3600],
  ])('a refusal with Retry-After "%s" says when to try again, whatever the status', (field, expected) => {
    for (const status of [301, 400, 401, 403, 405, 410, 413, 423, 429, 500, 501, 503, 529])
      expect(seconds({ 'retry-after': field }, status)).toBe(expected);
  });

  test.each<[string, Record<string, string>, number | undefined, of429?: number]>([
    ['nothing', {}, undefined, 5],
    ['RateLimit as an item', { ratelimit: '"default";r=0;t=77' }, 77],
    ['RateLimit as a dictionary', { ratelimit: 'limit=10, remaining=0, reset=77' }, 77],
    ['several items, of which two are used up', { ratelimit: '"a";r=0;t=7, "b";r=0;t=77, "c";r=9;t=777' }, 77],
    ['several items, of which none is used up', { ratelimit: '"a";r=3;t=7, "b";r=9;t=777' }, undefined, 7],
    ['RateLimit without t', { ratelimit: '"default";r=0' }, undefined, 5],
    ['RateLimit-Reset', { 'ratelimit-reset': '77' }, 77],
    ['X-RateLimit-Reset in seconds', { 'x-ratelimit-reset': '76.4', 'x-ratelimit-remaining': '0' }, 77],
    ['X-RateLimit-Reset as a time', { 'x-ratelimit-reset': String(Date.parse('2026-11-26T08:01:17Z') / 1000) }, 77],
    ['X-RateLimit-Reset as a time in milliseconds', { 'x-ratelimit-reset': String(Date.parse('2026-11-26T08:01:17Z')) }, 77],
    ['X-RateLimit-Reset as a date', { 'x-ratelimit-reset': '2026-11-26T08:01:17Z' }, 77],
    ['X-RateLimit-Reset of a limit that is not used up', { 'x-ratelimit-reset': '77', 'x-ratelimit-remaining': '4987' }, undefined, 77],
    ['X-Rate-Limit-Reset in the past', { 'x-rate-limit-reset': '1600000000' }, 1],
    ['a reset that is nonsense', { 'x-ratelimit-reset': '-1' }, undefined, 5],
    ['a reset in a thousand years', { 'x-ratelimit-reset': '33333333333' }, 3600],
    ['Retry-After-Ms', { 'retry-after-ms': '76123' }, 77],
    ['Retry-After beside a reset', { 'retry-after': '7', 'x-ratelimit-reset': '77' }, 7],
    ['a Retry-After that is nonsense beside a reset', { 'retry-after': 'soon', 'ratelimit-reset': '77' }, 77],
  ])('without a usable Retry-After, the rate limit says when: %s', (_, headers, expected, of429 = expected) => {
    for (const status of [403, 413, 500, 503]) expect(seconds(headers, status)).toBe(expected);
    expect(seconds(headers, 429)).toBe(of429);
  });

  test('429 does not let the upstream speak for the gate', () => {
    expect(show(refusal(() => map(429, '{"error":{"code":"UNAUTHORIZED"}}')))).toEqual({
      code: 'SERVICE_UNAVAILABLE',
      status: 503,
      message: busy + saysWhy,
      details: { upstream_status: 429, upstream_body: { error: { code: 'UNAUTHORIZED' } }, retry_after_seconds: 5 },
      headers: { 'Retry-After': '5' },
    });
  });

  const reasonOf = (status: number, body: string | Buffer, contentType?: string, intent: Partial<Intent> = {}) => {
    const { details, message } = refusal(() => map(status, body, [], contentType === undefined ? {} : { contentType }, intent));
    expect(message.endsWith(saysWhy)).toBe(details.upstream_body !== undefined);
    return { said: details.upstream_body, cut: details.cut };
  };

  const html = `<!DOCTYPE html><html><head><title>Not  allowed</title><style>p { color: red }</style><script>if (a<b) { steal("</p>") }</script></head>
    <body><!-- build 7 --><h1>Project&nbsp;7</h1><p class="x">is <b>archived</b> &amp; read&#45;only&#x21;</p></body></html>`;
  const words = 'Not allowed Project 7 is archived & read-only!';
  const xml = '<?xml version="1.0"?><Error><Code>NoSuchKey</Code><Message><![CDATA[no <such> key]]></Message></Error>';

  test.each<[string, string | undefined, string | Buffer, unknown]>([
    ['JSON', 'application/json', '{"error":{"code":"UNAUTHORIZED"}}', { error: { code: 'UNAUTHORIZED' } }],
    ['a list', 'application/json', '[{"detail":"no such city"}]', [{ detail: 'no such city' }]],
    ['a problem in UTF-8 that says Latin-1', 'application/problem+json;charset=latin1', '{"title":"Zoë"}', { title: 'Zoë' }],
    ['JSON without a type', undefined, '{"a":1}', { a: 1 }],
    ['text', 'text/plain; charset=utf-8', ' no such city\n', 'no such city'],
    ['text that nobody marked up', 'text/plain', 'a < b, and <c> is missing', 'a < b, and <c> is missing'],
    ['JSON that is broken', 'application/json', '{"error":', '{"error":'],
    ['4 KB of JSON', 'application/json', `["${'x'.repeat(2000)}","${'y'.repeat(2000)}"]`, ['x'.repeat(2000), 'y'.repeat(2000)]],
    ['HTML', 'text/html; charset=utf-8', html, words],
    ['HTML that is said to be text', 'text/plain', html, words],
    ['XHTML with an empty script', 'application/xhtml+xml', '<p><script src="a"/>closed</p>', 'closed'],
    ['XML', 'application/xml', xml, 'NoSuchKey no <such> key'],
    ['a problem in XML', 'application/problem+xml', '<problem><title>Out of stock</title></problem>', 'Out of stock'],
    ['HTML that does not end', 'text/html', '<p>closed<script>let a = 1', 'closed'],
    ['HTML without words', 'text/html', '<html><body></body></html>', undefined],
    ['an entity that is none', 'text/html', 'a &#1114112; &#xD800; &bogus;', 'a &#1114112; \ufffd &bogus;'],
    ['nothing', 'application/json', '', undefined],
    ['null', 'application/json', 'null', undefined],
    ['an empty object', 'application/json', '{}', undefined],
    ['an empty text', 'application/json', '""', undefined],
    ['an image', 'image/png', Buffer.from('89504e470d0a1a0a', 'hex'), undefined],
  ])('any refusal of a call shows its reason: %s', (_, contentType, body, shown) => {
    for (const status of [400, 401, 403, 405, 409, 410, 422, 429]) expect(reasonOf(status, body, contentType).said).toEqual(shown);
  });

  test('a failure of the service shows JSON and nothing else', () => {
    for (const status of [500, 501, 503, 529]) {
      expect(reasonOf(status, '{"detail":"disk full"}', 'application/json').said).toEqual({ detail: 'disk full' });
      expect(reasonOf(status, html, 'text/html').said).toBeUndefined();
      expect(reasonOf(status, 'Traceback: secret.py', 'text/plain').said).toBeUndefined();
      expect(reasonOf(status, '{"detail":', 'application/json').said).toBeUndefined();
    }
  });

  test.each<[string, unknown, said: unknown, cut: unknown]>([
    [
      'a list of errors is cut after an item',
      { errors: Array.from({ length: 200 }, (_, at) => ({ at, text: 'x'.repeat(80) })) },
      { errors: Array.from({ length: 40 }, (_, at) => ({ at, text: 'x'.repeat(80) })) },
      { at: '/upstream_body/errors/40', total: 200 },
    ],
    [
      'a long text is shortened, because the reason is in it',
      { detail: 'é'.repeat(5000), code: 7 },
      { detail: `${'é'.repeat(1022)}…`, code: 7 },
      { at: '/upstream_body/detail', total: 5000 },
    ],
    [
      'a long text of a list is shortened',
      [{ message: 'x'.repeat(9000) }],
      [{ message: `${'x'.repeat(2045)}…` }],
      { at: '/upstream_body/0/message', total: 9000 },
    ],
    ['a text in JSON is shortened', 'x'.repeat(9000), `${'x'.repeat(2045)}…`, { at: '/upstream_body', total: 9000 }],
    [
      'a member that is too large is dropped',
      { why: 'no', trace: Array.from({ length: 3 }, () => 'x'.repeat(2000)) },
      { why: 'no', trace: ['x'.repeat(2000), 'x'.repeat(2000)] },
      { at: '/upstream_body/trace/2', total: 3 },
    ],
  ])('a reason in JSON of more than 4 KB: %s', (_, body, said, cut) => {
    const shown = reasonOf(403, JSON.stringify(body), 'application/json');
    expect(Buffer.byteLength(JSON.stringify(shown.said))).toBeLessThanOrEqual(4_096);
    expect(shown).toEqual({ said, cut });
  });

  test('a reason in text of more than 2 KB is cut', () => {
    const { said } = reasonOf(403, `<p>${'é '.repeat(5000)}</p>`, 'text/html');
    expect(said).toBe(`${'é '.repeat(681)}é…`);
  });

  test('a reason does not take long to read, whatever its markup', () => {
    const parts = ['<', '<script', '<script>', '<!--', '<![CDATA[', '</script', '<a ', '&#', '<style/', '<script '];
    for (const part of parts) {
      const startedMs = performance.now();
      reasonOf(403, part.repeat(Math.floor(262_144 / part.length)), 'text/html');
      expect([part, performance.now() - startedMs < 1_000]).toEqual([part, true]);
    }
  });

  test('a reason shows no more than may leave', () => {
    const fields = ['/error'];
    const shown = (body: string, contentType = 'application/json') => reasonOf(403, body, contentType, { fields });
    expect(shown('{"error":"no","customer":"x"}').said).toEqual({ error: 'no' });
    expect(shown(`{"error":"no","customer":"${'x'.repeat(9000)}"}`)).toEqual({ said: { error: 'no' }, cut: undefined });
    expect(shown('{"customer":"x"}').said).toBeUndefined();
    expect(shown('[{"customer":"x"}]').said).toBeUndefined();
    expect(shown('"x"').said).toBeUndefined();
    expect(shown('customer x', 'text/plain').said).toBeUndefined();
  });

  test('a refusal that is narrowed later does not promise a reason that it no longer has', () => {
    const error = refusal(() => map(403, '{"customer":"x"}'));
    expect(show(narrowRefusal(error, { fields: ['/error'] }))).toMatchObject({ message: denied, details: { upstream_status: 403 } });
  });

  test.each([
    ['an entity', '<p>bad key S3cr3t&#45;T0ken.Value</p>', 'bad key [credential]'],
    ['a comment', '<p>bad key S3cr3t-<!---->T0ken.Value</p>', 'bad key [credential]'],
    ['a tag', '<p>bad key S3cr3t<b>-T0ken</b>.Value given</p>', 'bad key [credential] given'],
    ['spaces that do not break', '<p>bad key S3cr3t-&nbsp;T0ken.Value</p>', 'bad key [credential]'],
    ['nothing', '<p>bad</p><p>key S3cr3t-T0ken.Value</p>', 'bad key [credential]'],
    ['another value', '<p>bad</p><p>key</p>', 'bad key'],
  ])('markup does not hide a credential in a reason: divided by %s', (_, body, reason) => {
    const redactor = openRedactor({ headers: { 'X-Key': 'S3cr3t-T0ken.Value' }, query: {}, origins: [] });
    const { details } = refusal(() => map(403, body, [], { contentType: 'text/html', redactor }));
    expect(details.upstream_body).toBe(reason);
  });
});

test('whatever the answer, the outcome is an object or one of the errors of execution', () => {
  const codes: ErrorCode[] = ['INTENT_EXECUTION_FAILED', 'INTENT_NOT_SUPPORTED', 'INTENT_DEPRECATED', 'SERVICE_UNAVAILABLE'];
  const body = fc.oneof(
    fc.json(),
    fc.string({ unit: 'binary' }),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  );
  fc.assert(
    fc.property(
      fc.integer({ min: 100, max: 999 }),
      body,
      fc.constantFrom<Parameter[]>([], [total], [total, note]),
      (status, text, outputs) => {
        try {
          const { body: answer } = map(status, text, outputs);
          expect(((status >= 200 && status < 300) || status === 304) && typeof answer === 'object' && !Array.isArray(answer)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(ApiError);
          expect(codes).toContain((error as ApiError).code);
          expect([422, errorTable[(error as ApiError).code].status]).toContain((error as ApiError).status);
        }
      },
    ),
  );
});

describe('a credential that a field of the answer repeats', () => {
  const secret = 'S3cr3t-T0ken.Value';
  const redactorOf = () => openRedactor({ headers: { 'X-Key': secret }, query: {}, origins: [] });

  test.each([`text/${secret}`, `text/plain; charset=${secret}`, `application/vnd.${secret}+json`])(
    'a credential is hidden in Content-Type: %s',
    (contentType) => {
      const redactor = redactorOf();
      const { body } = map(200, 'ok then', [], { contentType, redactor });
      expect(JSON.stringify(body).toLowerCase()).not.toContain(secret.toLowerCase());
      expect(redactor.hasFound).toBe(true);
    },
  );

  test.each<[string, string | undefined]>([
    [`https://${secret}.example/a`, undefined],
    [`https://up.example/${secret}/a`, 'https://up.example/[credential]/a'],
    [`/${encodeURIComponent(secret)}`, 'https://up.example/[credential]'],
  ])('a credential is hidden in Location: %s', (location, shown) => {
    const redactor = redactorOf();
    const { details } = refusal(() => map(302, '', [], { headers: { location }, redactor }));
    expect(details).toEqual({ upstream_status: 302, outcome: 'unknown', ...(shown !== undefined && { location: shown }) });
    expect(redactor.hasFound).toBe(true);
  });

  test('a credential is hidden in UTF-16 without a charset', () => {
    const json = Buffer.from(JSON.stringify({ token: secret }), 'utf16le');
    for (const contentType of ['application/json', 'text/plain', undefined]) {
      const { body } = map(200, json, [], { ...(contentType !== undefined && { contentType }), redactor: redactorOf() });
      const { value = '', base64 = '' } = body as { value?: string; base64?: string };
      expect(`${value}${Buffer.from(base64, 'base64')}`.replaceAll('\0', '')).toBe('{"token":"[credential]"}');
    }
  });
});
