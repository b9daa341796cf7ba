import { afterEach, describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { ApiError } from '../../../../functions/core/api-error.ts';
import { mapAnswer, refuseMismatch } from '../../../../functions/core/relay/answer.ts';
import type { UpstreamAnswer } from '../../../../functions/core/relay/call.ts';
import type { UnusableBody } from '../../../../functions/core/relay/content-coding.ts';
import { openRedactor } from '../../../../functions/core/relay/redact.ts';
import { type ErrorCode, errorTable } from '../../../../schemas/errors.ts';
import type { Intent } from '../../../../schemas/intent.ts';
import type { Parameter } from '../../../../schemas/parameter.ts';

const total: Parameter = { name: 'total', type: 'number', required: true };
const note: Parameter = { name: 'note', type: 'string' };

type Answer = Partial<UpstreamAnswer>;

const answerOf = (status: number, body: string | Buffer, more: Answer = {}): UpstreamAnswer => ({
  status,
  url: 'https://up.example/orders/1',
  body: Buffer.from(body),
  redactor: openRedactor(undefined),
  durationMs: 1,
  ...more,
});

const map = (status: number, body: string | Buffer, outputs: Parameter[] = [], more: Answer = {}, intent: Partial<Intent> = {}) =>
  mapAnswer(answerOf(status, body, more), { output_parameters: outputs, ...intent });

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

describe('an answer in the 200s is passed on', () => {
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
  ])('%i %.60s', (status, body, outputs, expected) => {
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
    ['a charset that nobody knows', 'text/plain; charset=klingon', 'a', bytes('a', 'text/plain')],
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
    ['nothing that is said to be JSON', 'application/json', '', {}],
  ])('%s', (_, contentType, body, expected) => {
    expect(map(200, body, [], contentType === undefined ? {} : { contentType })).toEqual({ body: expected, issues: [] });
  });

  test('a text is not taken for JSON if the intent promises text', () => {
    const outputs: Parameter[] = [
      { name: 'value', type: 'string' },
      { name: 'content_type', type: 'string' },
    ];
    expect(map(200, '{"a":1}', outputs, { contentType: 'text/plain' })).toEqual({ body: text('{"a":1}', 'text/plain'), issues: [] });
  });

  test.each<[string, string | Buffer]>([
    ['half an object', '{"total":'],
    ['duplicate members', '{"total":1,"total":2}'],
    ['__proto__', '{"__proto__":{"admin":true},"total":1}'],
    ['depth', '['.repeat(5000) + ']'.repeat(5000)],
    ['NaN', 'NaN'],
    ['a lone surrogate', '"\\ud800"'],
    ['two documents', '{}{}'],
  ])('JSON that readers could read differently is passed on as the text that it is, and reported: %s', (_, body) => {
    expect(map(200, body, [], { contentType: 'application/json' })).toEqual({
      body: { value: String(body), content_type: 'application/json' },
      issues: [{ path: '/value', problem: 'is text, because it is not unambiguous JSON with at most 200 levels' }],
    });
  });

  test('JSON that is no UTF-8, and much that is no JSON, is passed on as bytes', () => {
    const contentType = 'application/json';
    const broken = Buffer.from([0x22, 0xff, 0x22]);
    expect(map(200, broken, [], { contentType }).body).toEqual(bytes(broken, contentType));
    expect(map(200, '['.repeat(1_000_000), [], { contentType }).body).toEqual(bytes('['.repeat(1_000_000), contentType));
  });

  test.each<[string, string, Parameter[], unknown, problem: string]>([
    ['a missing member', '{}', [total], {}, 'is required and must be a number'],
    ['a member of another type', '{"total":"1"}', [total], { total: '1' }, 'must be a number'],
    ['a scalar of another type', '"1"', [total], { total: '1' }, 'must be a number'],
    ['a scalar with two places', '1', [total, note], { value: 1 }, 'is required and must be a number'],
  ])('and what does not match is named: %s', (_, body, outputs, expected, problem) => {
    expect(map(200, body, outputs)).toEqual({ body: expected, issues: [{ path: '/total', problem }] });
  });

  test('no more than may leave', () => {
    const body = '{"name":"x","customer":{"iban":"DE1","email":"a@b"},"items":[{"price":1.10,"cost":1}]}';
    const fields = ['/name', '/items/price'];
    expect(JSON.stringify(map(200, body, [], {}, { fields }).body)).toBe('{"name":"x","items":[{"price":1.10}]}');
    expect(map(200, csv, [], { contentType: 'text/csv' }, { fields }).body).toEqual({});
    expect(map(200, '', [], {}, { fields }).body).toEqual({});
  });

  test('a strict intent refuses a mismatch, and says that the call was executed', () => {
    const answer = answerOf(201, '{"order":"A1","secret":1}');
    const issues = [{ path: '/total', problem: 'must be a number' }];
    expect(show(refuseMismatch(answer, issues, { output_parameters: [total], fields: ['/order'] }))).toEqual({
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
    ['encoded_answer', ...failed, 'has an unsupported content coding'],
    ['deadline', 'GATEWAY_TIMEOUT', 504, 'did not end in time'],
  ])('unless its body is unusable, which does not mean that the call failed: %s', (unusable, code, status, problem) => {
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
])('a redirect says where it leads, without what may be a secret: %.60s', (location, shown) => {
  const { details } = refusal(() => map(307, 'ignored', [], location === undefined ? {} : { location }));
  expect(details).toEqual({ upstream_status: 307, outcome: 'unknown', ...(shown !== undefined && { location: shown }) });
});

describe('another status', () => {
  const parametersRefused = "The intent's endpoint refused the parameters. details.upstream_body says why, if the endpoint gave a reason.";
  const failed =
    "The intent's endpoint failed. It may have acted on the call; check this before you send it again, or tell the service's operators.";
  const notLetIn = "The intent's endpoint denied access to this gate. Tell the service's operators.";
  const notSupported = "The intent's endpoint does not support the operation. Tell the service's operators.";
  const redirects =
    "The intent's endpoint sent a redirect, which the gate does not follow. It may have acted on the call; check this before you send it again, and tell the service's operators.";
  const gone = "The intent's endpoint no longer exists. Search for another intent.";
  const busy = "The intent's endpoint is not accepting calls at the moment. Try again after Retry-After.";

  test.each<[number, ErrorCode, number, string]>([
    [301, 'INTENT_EXECUTION_FAILED', 502, redirects],
    [400, 'INTENT_EXECUTION_FAILED', 422, parametersRefused],
    [401, 'INTENT_EXECUTION_FAILED', 502, notLetIn],
    [403, 'INTENT_EXECUTION_FAILED', 502, notLetIn],
    [405, 'INTENT_NOT_SUPPORTED', 501, notSupported],
    [410, 'INTENT_DEPRECATED', 410, gone],
    [499, 'INTENT_EXECUTION_FAILED', 422, parametersRefused],
    [500, 'INTENT_EXECUTION_FAILED', 502, failed],
    [501, 'INTENT_NOT_SUPPORTED', 501, notSupported],
    [999, 'INTENT_EXECUTION_FAILED', 502, failed],
  ])('%i', (upstreamStatus, code, status, message) => {
    expect(show(refusal(() => map(upstreamStatus, upstreamStatus < 500 ? '' : '{"stack":"at secret.ts"}')))).toEqual({
      code,
      status,
      message,
      details: { upstream_status: upstreamStatus, ...([failed, redirects].includes(message) && { outcome: 'unknown' }) },
      headers: {},
    });
  });

  test.each<[string | undefined, string]>([
    [undefined, '5'],
    ['30', '30'],
    ['0', '1'],
    ['1e9', '5'],
    ['1000000000', '3600'],
    ['-1', '5'],
    ['Thu, 26 Nov 2026 08:01:30 GMT', '90'],
    ['Thu, 26 Nov 2026 07:59:00 GMT', '1'],
    ['Wed, 21 Oct 2099 07:28:00 GMT', '3600'],
    ['Thu, 99 Nov 2026 08:01:30 GMT', '5'],
    ['2026-11-26T08:01:30Z', '5'],
    ['Thu Nov 26 08:01:30 2026', '90'],
    ['99999999999999999999', '3600'],
    ['9'.repeat(400), '3600'],
  ])('429 with Retry-After %s', (field, seconds) => {
    jest.spyOn(Date, 'now').mockReturnValue(Date.parse('2026-11-26T08:00:00Z'));
    const error = refusal(() => map(429, '{"error":{"code":"UNAUTHORIZED"}}', [], field === undefined ? {} : { retryAfter: field }));
    expect(show(error)).toEqual({
      code: 'SERVICE_UNAVAILABLE',
      status: 503,
      message: busy,
      details: { upstream_status: 429 },
      headers: { 'Retry-After': seconds },
    });
  });

  test.each<[string, string, string, unknown]>([
    ['JSON', 'application/json', '{"error":{"code":"UNAUTHORIZED"}}', { error: { code: 'UNAUTHORIZED' } }],
    ['text', 'text/plain; charset=utf-8', 'no such city', 'no such city'],
    ['4 KB', 'application/json', `"${'x'.repeat(4094)}"`, 'x'.repeat(4094)],
    ['more than 4 KB', 'application/json', `"${'x'.repeat(4095)}"`, undefined],
    ['HTML', 'text/html', '<p>no</p>', undefined],
    ['nothing', 'application/json', '', undefined],
  ])('400 with %s shows it below details', (_, contentType, body, shown) => {
    const { details } = refusal(() => map(400, body, [], { contentType }));
    expect(details).toEqual({ upstream_status: 400, ...(shown !== undefined && { upstream_body: shown }) });
  });

  test('400 shows no more than may leave', () => {
    const shown = (body: string) => refusal(() => map(400, body, [], {}, { fields: ['/error'] })).details.upstream_body;
    expect(shown('{"error":"no","customer":"x"}')).toEqual({ error: 'no' });
    expect(shown('{"customer":"x"}')).toBeUndefined();
    expect(shown('[{"customer":"x"}]')).toBeUndefined();
    expect(shown('"x"')).toBeUndefined();
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
          expect(status >= 200 && status < 300 && typeof answer === 'object' && !Array.isArray(answer)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(ApiError);
          expect(codes).toContain((error as ApiError).code);
          expect([422, errorTable[(error as ApiError).code].status]).toContain((error as ApiError).status);
        }
      },
    ),
  );
});

describe('a credential that a field of the answer repeats is hidden before the field is read', () => {
  const secret = 'S3cr3t-T0ken.Value';
  const redactorOf = () => openRedactor({ headers: { 'X-Key': secret }, query: {}, origins: [] });

  test.each([`text/${secret}`, `text/plain; charset=${secret}`, `application/vnd.${secret}+json`])('Content-Type: %s', (contentType) => {
    const redactor = redactorOf();
    const { body } = map(200, 'ok then', [], { contentType, redactor });
    expect(JSON.stringify(body).toLowerCase()).not.toContain(secret.toLowerCase());
    expect(redactor.hasFound).toBe(true);
  });

  test.each<[string, string | undefined]>([
    [`https://${secret}.example/a`, undefined],
    [`https://up.example/${secret}/a`, 'https://up.example/[credential]/a'],
    [`/${encodeURIComponent(secret)}`, 'https://up.example/[credential]'],
  ])('Location: %s', (location, shown) => {
    const redactor = redactorOf();
    const { details } = refusal(() => map(302, '', [], { location, redactor }));
    expect(details).toEqual({ upstream_status: 302, outcome: 'unknown', ...(shown !== undefined && { location: shown }) });
    expect(redactor.hasFound).toBe(true);
  });

  test('UTF-16 without a charset', () => {
    const json = Buffer.from(JSON.stringify({ token: secret }), 'utf16le');
    for (const contentType of ['application/json', 'text/plain', undefined]) {
      const { body } = map(200, json, [], { ...(contentType !== undefined && { contentType }), redactor: redactorOf() });
      const { value = '', base64 = '' } = body as { value?: string; base64?: string };
      expect(`${value}${Buffer.from(base64, 'base64')}`.replaceAll('\0', '')).toBe('{"token":"[credential]"}');
    }
  });
});
