import { afterAll, describe, expect, test } from '@jest/globals';
import type { Action } from '../../../functions/core/http/serve.ts';
import { signPat } from '../../../functions/core/pat/token.ts';
import { ApiError } from '../../../functions/core/runtime/api-error.ts';
import { explainPolicy } from '../../../functions/mcp/explain-policy.ts';
import type { Deps } from '../../../functions/mcp/mcp.ts';
import { paginate } from '../../../schemas/pagination.ts';
import type { PatClaims } from '../../../schemas/pat.ts';
import { baseUrl, newAgent, requestPat, startGate } from '../../support/gate.ts';
import { type Answer, invoke } from '../../support/invoke.ts';
import { callTool, openMcp, toolEndpoints } from '../../support/mcp/mcp.ts';
import { openPolicy } from '../../support/policy.ts';

const gate = await startGate();
afterAll(() => gate.stop());

const endpoints = toolEndpoints(gate);
const open = (changes: Partial<Deps> = {}) => openMcp(gate, { isSignInOffered: true, ...changes });

const issued: string = (await requestPat(gate.openIssue(), await newAgent())).body['proto-pat'];
const claims = JSON.parse(Buffer.from(issued.split('.')[1] ?? '', 'base64url').toString()) as PatClaims;
const expired = await signPat(gate.signingKeys, { ...claims, exp: Math.floor(Date.now() / 1_000) - 100 });

interface Sent {
  authorization?: string;
  pat?: string;
  /** additional arguments of the tool */
  args?: object;
}

const execute = ({ authorization, pat, args }: Sent, action = open(), intent_uid = 'a.example:none:v1'): Promise<Answer> =>
  callTool(
    action,
    'execute_intent',
    { intent_uid, parameters: {}, ...(pat !== undefined && { pat }), ...args },
    authorization === undefined ? {} : { Authorization: authorization },
  );

const acceptFirst = /^Call accept_policy without arguments to see what to sign; .* pass the PAT that it returns as pat\./;
const signIn = `${baseUrl}/mcp/sign-in`;
const earlier = await signPat(gate.signingKeys, { ...claims, pol: claims.pol.replace(/=.*/, `=${'A'.repeat(43)}`) });

test.each<[string, Sent, string]>([
  ['without one', {}, 'pat_missing'],
  ['with a malformed one of the connection', { authorization: 'Bearer not.a.pat' }, 'pat_of_connection'],
  ['with an expired one of the connection', { authorization: `Bearer ${expired}` }, 'pat_of_connection'],
])('a call at /mcp that needs a PAT, %s, gets a result', async (_, sent, reason) => {
  const { status, body, headers } = await execute(sent);
  expect({ status, id: body.id, isError: body.result.isError, challenge: headers['WWW-Authenticate'] }).toEqual({
    status: 200,
    id: 'call-7',
    isError: true,
    challenge: undefined,
  });
  const { error, next } = body.result.structuredContent;
  expect(error).toMatchObject({ code: 'UNAUTHORIZED', details: { reason, sign_in: signIn, request_id: 'request-1' } });
  expect(next).toContain(`connect this host to ${signIn}`);
  expect(next).toContain('accept_policy');
  expect(body.result.content[0].text).toBe(`UNAUTHORIZED: ${error.message}\nDetails: ${JSON.stringify(error.details)}\nNext: ${next}`);
});

test('a connection at /mcp with a PAT for an earlier policy gets a result', async () => {
  const { status, body } = await execute({ authorization: `Bearer ${earlier}` });
  expect([status, body.result.isError]).toEqual([200, true]);
  expect(body.result.structuredContent.error).toMatchObject({ code: 'FORBIDDEN', details: { reason: 'policy_changed' } });
});

test('without sign-in, a call without a PAT gets advice that does not mention it', async () => {
  const { body } = await execute({}, open({ isSignInOffered: false }));
  const { error, next } = body.result.structuredContent;
  expect(error).toEqual({
    code: 'UNAUTHORIZED',
    message: 'Executing an intent needs a PAT, and this call has none.',
    details: { reason: 'pat_missing', request_id: 'request-1' },
  });
  expect(next).toMatch(acceptFirst);
  expect(next).not.toContain('/mcp/sign-in');
});

test('an invalid argument pat gets a result, because the model can get another PAT', async () => {
  for (const pat of ['not.a.pat', expired]) {
    const { status, body } = await execute({ pat });
    expect({ status, ...body.result.structuredContent }).toMatchObject({ status: 200, error: { code: 'UNAUTHORIZED' }, next: acceptFirst });
    expect(body.result.structuredContent.error.details).not.toHaveProperty('reason');
  }
});

test('/mcp uses the PAT of the connection or of the arguments, and refuses both together', async () => {
  for (const sent of [{ authorization: `Bearer ${issued}` }, { pat: issued }, { pat: ` ${issued}\n` }, { pat: `Bearer ${issued}` }]) {
    const { body } = await execute(sent);
    expect(body.result.structuredContent.error).toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('Find one with search_intents'),
    });
  }
  for (const authorization of [`Bearer ${expired}`, 'Basic YTpi']) {
    const { status, body } = await execute({ authorization, pat: issued });
    expect({ status, ...body.result.structuredContent.error }).toMatchObject({
      status: 200,
      code: 'INVALID_PARAMETER',
      message: 'The call has two PATs. Leave the argument pat out: the PAT of the connection is used.',
      details: { issues: [{ path: '/pat', problem: 'must be left out, because this connection has a PAT of its own' }] },
    });
  }
});

test.each(['a\nb', 'Basic a.b.c'])('/mcp refuses the argument pat %j', async (pat) => {
  const { body } = await execute({ pat });
  expect(body.result.structuredContent.error.details.issues).toEqual([
    { path: '/pat', problem: 'must be the PAT that accept_policy returned, and nothing else' },
  ]);
});

test.each<[object | null, object]>([
  [null, {}],
  [{ query: 'time', namespace: null, page: null, page_size: null }, { query: 'time' }],
  [{ query: 'time', namespace: '', service_name: '', tags: '' }, { query: 'time' }],
  [{ query: '', namespace: '' }, {}],
  [
    { query: 'time', permitted: true },
    { query: 'time', permitted: 'true' },
  ],
  [{ query: 'time', permitted: false }, { query: 'time' }],
  [
    { query: '42', page: '2', page_size: ' 3 ' },
    { query: '42', page: '2', page_size: '3' },
  ],
  [{ tags: ['time', 'zone'] }, { tags: 'time,zone' }],
  [{ tags: ' ["time"]' }, { tags: 'time' }],
  [{ query: 'time', tags: [] }, { query: 'time' }],
  [{ tags: '[time' }, { tags: '[time' }],
])('search_intents with %j searches with %j', async (given, searched) => {
  const queries: object[] = [];
  const searchIntents: Action = async (request) => {
    queries.push(request.queryValues());
    return { status: 200, body: { intents: [], pagination: paginate(0, 1, 5) } };
  };
  await callTool(open({ endpoints: { ...endpoints, searchIntents } }), 'search_intents', given);
  expect(queries).toEqual([{ page_size: '5', view: 'brief', ...searched }]);
});

test('search_intents and get_intent pass the argument pat on, and refuse it beside the PAT of the connection', async () => {
  const seen: (string | undefined)[] = [];
  const read: Action = async (request) => {
    seen.push(request.header('authorization'));
    return { status: 200, body: { intents: [], pagination: paginate(0, 1, 5) } };
  };
  const mcp = open({ endpoints: { ...endpoints, searchIntents: read, getIntent: read } });
  for (const [tool, args] of [
    ['search_intents', {}],
    ['get_intent', { intent_uid: 'a.example:none:v1' }],
  ] as const) {
    await callTool(mcp, tool, { ...args, pat: issued });
    const { body } = await callTool(mcp, tool, { ...args, pat: issued }, { Authorization: `Bearer ${issued}` });
    expect(body.result.structuredContent.error).toMatchObject({ code: 'INVALID_PARAMETER', details: { issues: [{ path: '/pat' }] } });
  }
  expect(seen).toEqual([`Bearer ${issued}`, `Bearer ${issued}`]);
});

test.each([null, ''])('%j omits an optional argument, and is refused for a required one', async (empty) => {
  const execute = async (given: object) => {
    const args = {
      intent_uid: 'a.example:none:v1',
      fields: null,
      max_bytes: null,
      idempotency_key: empty,
      digest: empty,
      pat: issued,
      ...given,
    };
    return (await callTool(open(), 'execute_intent', args)).body.result.structuredContent;
  };
  expect(await execute({ parameters: {} })).toMatchObject({ error: { code: 'NOT_FOUND' } });
  expect(await execute({ parameters: {}, pat: empty })).toMatchObject({ error: { details: { reason: 'pat_missing' } } });
  expect(await execute({ parameters: empty })).toMatchObject({
    error: { details: { issues: [{ path: '/parameters', problem: 'is required' }] } },
  });
});

test.each<[object, string]>([
  [
    { parameters: '{"n":9007199254740993}', fields: '["/id"]', max_bytes: '500', respond_async: 'true' },
    '"parameters":{"n":9007199254740993},"max_bytes":500,"fields":["/id"]',
  ],
  [{ parameters: { id: '7' }, fields: [] }, '"parameters":{"id":"7"},"max_bytes":20000'],
])('execute_intent reads the arguments %j from JSON text; parameters of the intent keep their types', async (args, expected) => {
  let body = '';
  const executeIntent: Action = async (request) => {
    body = JSON.stringify(request.json());
    return { status: 200, body: {} };
  };
  await execute({ pat: issued, args }, open({ endpoints: { ...endpoints, executeIntent } }));
  expect(body).toBe(`{"intent_uid":"a.example:none:v1",${expected}}`);
});

test.each([[{ toString: 1 }], ['a', 1], ['a,b'], [{ a: 1 }]])(
  'search_intents refuses tags that are no list of tags: %j, %j',
  async (...tags) => {
    const { body } = await callTool(open(), 'search_intents', { tags });
    expect(body.result.structuredContent.error.details.issues).toEqual([{ path: '/tags', problem: 'must be a string' }]);
  },
);

test.each([{ toString: 1 }, [{ toString: 1 }], 5])('execute_intent refuses respond_async as %j', async (respond_async) => {
  const { status, body } = await execute({ pat: issued, args: { parameters: {}, respond_async } });
  expect([status, body.result.structuredContent.error.details.issues]).toEqual([
    200,
    [{ path: '/respond_async', problem: 'must be a boolean' }],
  ]);
});

test.each(['{"a":1,"a":2}', '[]', 'true', 'a=1'])('execute_intent refuses the parameters %s', async (parameters) => {
  const { body } = await execute({ pat: issued, args: { parameters } });
  expect(body.result.structuredContent.error.details.issues).toEqual([{ path: '/parameters', problem: 'must be an object' }]);
});

describe('advice after a failure of the service', () => {
  const failing = (status: number, details: object = {}) =>
    open({
      endpoints: {
        ...endpoints,
        executeIntent: async () => {
          throw new ApiError('INTENT_EXECUTION_FAILED', 'It failed.', { status, details: { ...details } });
        },
      },
    });
  test.each<[string, Action, RegExp]>([
    ['it refused the parameters', failing(422, { upstream_status: 400 }), /^Look at upstream_status .* Correct the parameters/],
    [
      'it answered 500',
      failing(502, { upstream_status: 500 }),
      /^The parameters are not the cause\. The service may have done what you asked/,
    ],
    ['it could not be called', failing(502, { outcome: 'not_sent' }), /^The parameters are not the cause\. Tell the person/],
  ])('the advice after a failure of the service says what to do if %s', async (_, action, next) => {
    const { body } = await execute({ pat: issued }, action);
    expect(body.result.structuredContent.next).toMatch(next);
  });
});

test.each<[string[], string, number]>([
  [[], new URL(baseUrl).origin, 200],
  [['https://host.example'], 'https://host.example', 200],
  [['https://host.example'], 'https://other.example', 403],
  [['*'], 'https://other.example', 200],
  [[], 'null', 403],
])('with corsOrigins %j, a page of %s gets %s', async (allowedOrigins, origin, status) => {
  const headers = { 'Content-Type': 'application/json', Origin: origin };
  const body = '{"jsonrpc":"2.0","id":7,"method":"ping"}';
  expect((await invoke(open({ allowedOrigins }), 'POST /mcp', { headers, body })).status).toBe(status);
});

test('the explanation of the policy says which claims the JWS must have if fresh signatures are required', () => {
  const current = openPolicy()(baseUrl);
  const { policy } = current;
  const { text, data } = explainPolicy(current, baseUrl, true);
  expect(text).toContain(`iat and exp (seconds since 1970), aud "${baseUrl}", and a jti that is new each time`);
  expect(text).toContain('a compact JWS (RS256, PS256, ES256, ES384, EdDSA, or Ed25519)');
  expect(text).not.toContain('openssl');
  expect(data).toMatchObject({ policy, text_to_sign: JSON.stringify(policy) });
});
