import { describe, expect, test } from '@jest/globals';
import {
  connect,
  type ErrorCode,
  type GateErrorCode,
  gateErrorCodes,
  RateLimited,
  Refusal,
  UnexpectedAnswer,
} from '../../client/connect.ts';
import { openHttp } from '../../client/http.ts';
import { toPrintableJson } from '../../client/printable.ts';
import { type ErrorCode as CodeOfTable, errorTable } from '../../schemas/errors.ts';

const refusal = (details: Record<string, unknown>) =>
  new Refusal({
    status: 422,
    code: 'INTENT_EXECUTION_FAILED',
    message: 'Refused.',
    details,
    requestId: undefined,
    retryAfterMs: undefined,
  });

test("the codes are those of the gate's table, for programs and for the compiler", () => {
  expect([...gateErrorCodes].sort()).toEqual(Object.keys(errorTable).sort());
  const codes: CodeOfTable[] = [...gateErrorCodes];
  const back: GateErrorCode[] = Object.keys(errorTable) as CodeOfTable[];
  expect(codes.length).toBe(back.length);
  const isOther = (code: ErrorCode): boolean =>
    // @ts-expect-error: a code that does not exist
    code === 'INVALID_PARAMTER';
  expect(isOther('INVALID_PARAMETER')).toBe(false);
});

describe('the reason given by the service', () => {
  test.each<[string, unknown, string]>([
    ['an object', { error: 'time_zone must be an IANA time zone' }, '{"error":"time_zone must be an IANA time zone"}'],
    ['a text on several lines', 'no\r\n such\tzone ', 'no such zone'],
    ['what a terminal obeys', 'a\u001b[2Jb\u202ec\u0000', 'a[2Jbc'],
    ['null', null, 'null'],
  ])('the reason given by the service is the second line of the message: %s', (_, upstream_body, said) => {
    expect(refusal({ upstream_body }).message).toBe(`Refused.\nThe service said: ${said}`);
  });

  test.each([{}, { upstream_status: 500 }, { upstream_body: '' }, { upstream_body: ' \u200b\n' }])(
    'the reason given by the service is left out if it is nothing: %j',
    (details) => {
      expect(refusal(details).message).toBe('Refused.');
    },
  );

  test('the reason given by the service has at most 1 KB, cut between characters', () => {
    const [, said = ''] = refusal({ upstream_body: '€'.repeat(1000) }).message.split('The service said: ');
    expect(said).toMatch(/^€+…$/);
    const { length } = Buffer.from(said);
    expect(length).toBeLessThanOrEqual(1024);
    expect(length).toBeGreaterThan(1018);
  });
});

test.each<[string, unknown, string]>([
  ['one', ['a.example:pay:v1'], 'Refused.\nDid you mean a.example:pay:v1?'],
  ['several', ['a.example:pay:v1', 'a.example:buy:v1'], 'Refused.\nDid you mean a.example:pay:v1, a.example:buy:v1?'],
  ['what a terminal obeys', ['a\u001b[2Jb'], 'Refused.\nDid you mean a[2Jb?'],
  ['none', [], 'Refused.'],
  ['no list', 'a.example:pay:v1', 'Refused.'],
])('the last line of the message names the uids that resemble an unknown one: %s', (_, nearest, message) => {
  expect(refusal({ nearest }).message).toBe(message);
});

describe('a call that would wait too long', () => {
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().replace(/T.*/, 'T\\d\\d:\\d\\d:\\d\\dZ');
  const refused = (seconds: number, message: string, details: object) => () =>
    Response.json({ error: { code: 'TOO_MANY_REQUESTS', message, details } }, { status: 429, headers: { 'Retry-After': String(seconds) } });
  const answered = (headers: Record<string, string>) => () => Response.json({}, { headers });

  test.each<[string, () => Response, string]>([
    [
      'a rate',
      refused(444, 'The rate limit is used up. Send it later; after Retry-After.', { limit: { rate: 60, period: 60, window: 68 } }),
      'The rate limit is used up \\(60 calls in 60 seconds\\)\\. Try again in 444 seconds\\.',
    ],
    [
      'a budget',
      refused(2_592_000, 'The budget is not sufficient for this call. Send it again after Retry-After seconds.', {
        reason: 'budget',
        budget: { amount: '10.00', unit: 'EUR', period: 2_678_400 },
      }),
      `The budget is not sufficient for this call \\(10.00 EUR in 31 days\\)\\. Try again after ${inDays(30)}\\.`,
    ],
    [
      'a queue',
      refused(100, 'The approval queue is full. Try again after Retry-After seconds.', { reason: 'waiting_calls' }),
      'The approval queue is full\\. Try again in 100 seconds\\.',
    ],
    [
      'a limit of an earlier answer',
      answered({ RateLimit: '"execute";r=0;t=100' }),
      'The limit "execute" is used up\\. Try again in 100 seconds\\.',
    ],
    [
      'a budget of an earlier answer',
      answered({
        RateLimit: '"a.example:*";r=0;t=2592000, "execute";r=0;t=30',
        'Budget-Warning': '"other";used="9.00";budget="9.00";unit="USD", "a.example:*";used="10.00";budget="10.00";unit="EUR"',
      }),
      `The budget "a.example:\\*" is used up \\(10.00 EUR\\)\\. Try again after ${inDays(30)}\\.`,
    ],
  ])('RateLimited says what is used up, and until when: %s', async (_, answer, message) => {
    const http = openHttp({ url: 'https://gate.example', fetch: async () => answer() });
    const send = () => http.send('POST', '/x', { intentUid: 'a.example:pay:v1' });
    await send().catch(() => undefined);
    const error = await send().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(RateLimited);
    expect((error as Error).message).toMatch(new RegExp(`^${message}$`));
  });

  test('onWait gets each wait and what it waits for', async () => {
    const answers = [
      refused(1, 'The rate limit is used up.', {}),
      () =>
        Response.json(
          { error: { code: 'SERVICE_UNAVAILABLE', message: 'Away.', details: {} } },
          { status: 503, headers: { 'Retry-After': '2' } },
        ),
      answered({}),
    ];
    const waits: [number, string][] = [];
    const http = openHttp({
      url: 'https://gate.example',
      fetch: async () => (answers.shift() as () => Response)(),
      sleep: async () => undefined,
      onWait: (ms, { message }) => waits.push([ms, message]),
    });
    expect((await http.send('GET', '/x')).status).toBe(200);
    expect(waits).toEqual([
      [1_000, 'The rate limit is used up. Try again in 1 seconds.'],
      [2_000, 'Away.'],
    ]);
  });
});

test('unrelated JSON is not accepted as a response of a gate', async () => {
  const gate = await connect('https://gate.example', {
    agentId: 'a',
    onPolicy: () => true,
    fetch: async () => new Response('{"method":"GET"}'),
  });
  await expect(gate.search('x')).rejects.toThrow(UnexpectedAnswer);
  await expect(gate.get('a:b:v1')).rejects.toThrow(UnexpectedAnswer);
});

test('numbers in the answers of services keep their spelling in refusals, and in their messages', async () => {
  const said = '{"n":12345678901234567890,"price":1.10,"most":1e400}';
  const body = `{"error":{"code":"INTENT_EXECUTION_FAILED","message":"Refused.","details":{"upstream_body":${said}}}}`;
  const http = openHttp({ url: 'https://gate.example', fetch: async () => new Response(body, { status: 422 }) });
  const error = (await http.send('POST', '/x').catch((caught: unknown) => caught)) as Refusal;
  expect(error.message).toBe(`Refused.\nThe service said: ${said}`);
  expect(toPrintableJson(error.details)).toBe(`{"upstream_body":${said}}`);
});

test.each(['secret\nvalue', 'secret\u0001value', '“secret”'])(
  'a header field that cannot be sent is a TypeError without its value, and nothing is sent: %j',
  async (value) => {
    let sent = 0;
    const http = openHttp({ url: 'https://gate.example', fetch: async () => Response.json({ sent: ++sent }) });
    const message = 'the header field traceparent has characters that cannot be sent';
    await expect(http.send('POST', '/x', { headers: { traceparent: value } })).rejects.toEqual(new TypeError(message));
    expect(sent).toBe(0);
  },
);

test.each<{ what: string; method: string; code: string; answer: Response; outcome: object }>([
  {
    what: 'a deletion that an earlier attempt has made',
    ...{ method: 'DELETE', code: 'ECONNRESET', outcome: { request: 'DELETE /x', status: 404 } },
    answer: Response.json({ error: { code: 'NOT_FOUND', message: 'None.', details: {} } }, { status: 404 }),
  },
  {
    what: 'a deletion that was not sent before',
    ...{ method: 'DELETE', code: 'ECONNREFUSED', outcome: { message: 'None.\nDid you mean a:b:v1?', mayBeDone: false } },
    answer: Response.json({ error: { code: 'NOT_FOUND', message: 'None.', details: { nearest: ['a:b:v1'] } } }, { status: 404 }),
  },
  {
    what: 'an answer of another program',
    ...{ method: 'DELETE', code: 'ECONNRESET', outcome: { code: 'UNEXPECTED_ANSWER', status: 404 } },
    answer: new Response('<h1>Not found</h1>', { status: 404 }),
  },
  {
    what: 'a change that an earlier attempt may have made',
    ...{ method: 'PUT', code: 'ECONNRESET' },
    answer: Response.json({ error: { code: 'NOT_FOUND', message: 'None.', details: { nearest: ['a:b:v1'] } } }, { status: 404 }),
    outcome: {
      message: 'None. An earlier attempt may have made the change.\nDid you mean a:b:v1?',
      mayBeDone: true,
    },
  },
])('a request that is repeated ends in what is known: $what', async ({ method, code, answer, outcome }) => {
  let sent = 0;
  const fetch = async () => {
    if (sent++ === 0) throw new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) });
    return answer;
  };
  const http = openHttp({ url: 'https://gate.example', fetch, sleep: async () => undefined });
  expect(await http.send(method, '/x').catch((error: unknown) => error)).toMatchObject(outcome);
});
