import { afterAll, expect, test } from '@jest/globals';
import { decodeProtectedHeader, generateKeyPair, SignJWT } from 'jose';
import type { Action } from '../../../functions/core/http/serve.ts';
import { signPat } from '../../../functions/core/pat/token.ts';
import { unavailable } from '../../../functions/core/runtime/api-error.ts';
import { keys } from '../../../functions/core/table/keys.ts';
import type { Deps } from '../../../functions/mcp/mcp.ts';
import { paginate } from '../../../schemas/pagination.ts';
import type { PatClaims } from '../../../schemas/pat.ts';
import { baseUrl, newAgent, requestPat, startGate } from '../../support/gate.ts';
import { type Call, invoke, type Target } from '../../support/invoke.ts';
import { openMcp, toolEndpoints } from '../../support/mcp/mcp.ts';
import { blockAgent, revokeAgent } from '../../support/stop-agent.ts';
import { toolCall } from '../../support/tool-call.ts';

// Many hosts decide at their first request whether a server needs a sign-in.

const gate = await startGate();
afterAll(() => gate.stop());

const endpoints = toolEndpoints(gate);
const open = (changes: Partial<Deps> = {}) => openMcp(gate, { isSignInOffered: true, ...changes });

const issued: string = (await requestPat(gate.openIssue(), await newAgent())).body['proto-pat'];
const claims = JSON.parse(Buffer.from(issued.split('.')[1] ?? '', 'base64url').toString()) as PatClaims;
const sign = (changes: Partial<PatClaims>) => signPat(gate.signingKeys, { ...claims, ...changes } as PatClaims);
const expired = await sign({ exp: Math.floor(Date.now() / 1_000) - 100 });
const metadata = `resource_metadata="${baseUrl}/.well-known/oauth-protected-resource/mcp/sign-in"`;

const request = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 'call-7', method, params });
const search = toolCall('search_intents', { query: 'time' }, 'call-7');
const json = { 'Content-Type': 'application/json' };
const sendAny = (call: Call, target: Target = 'POST /mcp/sign-in', action = open()) => invoke(action, target, call);
const askToSignIn = 'Let the person you work for sign in: this host can ask them to.';
const stateOf = async (change: 'block' | 'revoke' | 'delete') => {
  const agent = await newAgent();
  const pat = (await requestPat(gate.openIssue(), agent)).body['proto-pat'];
  if (change === 'block') await blockAgent(gate.database.table, agent.agentId);
  if (change === 'revoke') await revokeAgent(gate.database.table, agent.agentId);
  if (change === 'delete') await gate.database.table.delete(keys.agent(agent.agentId));
  return pat;
};
const blocked = await stateOf('block');
const revoked = await stateOf('revoke');
const otherKey = await generateKeyPair('ES256');
const signWithOther = (header: object, payload: object) =>
  new SignJWT({ ...payload }).setProtectedHeader({ alg: 'ES256', ...header }).sign(otherKey.privateKey);
const [head = '', body = '', signature = ''] = issued.split('.');
const { kid } = decodeProtectedHeader(issued);

const messages: [title: string, body: unknown, id: unknown][] = [
  [
    'initialize',
    request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } }),
    'call-7',
  ],
  ['tools/list', request('tools/list'), 'call-7'],
  ['ping', request('ping'), 'call-7'],
  ['server/discover', request('server/discover'), 'call-7'],
  ['a search', search, 'call-7'],
  ['the policy', toolCall('accept_policy', {}, 'call-7'), 'call-7'],
  ['an execution', toolCall('execute_intent', { intent_uid: 'a.example:none:v1', parameters: {} }, 'call-7'), 'call-7'],
  [
    'an execution with a valid argument pat',
    toolCall('execute_intent', { intent_uid: 'a.example:none:v1', parameters: {}, pat: issued }, 'call-7'),
    'call-7',
  ],
  ['a task', request('tasks/get', { taskId: 'x' }), 'call-7'],
  ['a method that does not exist', request('none'), 'call-7'],
  ['a message with the id 0', { ...request('ping'), id: 0 }, 0],
  ['a message with the id null', { ...request('ping'), id: null }, undefined],
  ['a message of another version', { id: 3, method: 'ping' }, 3],
  ['a notification', { jsonrpc: '2.0', method: 'notifications/initialized' }, undefined],
  ['a batch', [request('ping')], undefined],
  ['malformed JSON', '{"jsonrpc": "2.0", "id": 1,', undefined],
  ['an empty body', '', undefined],
  ['a body that is too large', JSON.stringify(request('ping', { text: 'x'.repeat(300_000) })), undefined],
];
test.each(messages)('/mcp/sign-in answers %s without a token with 401', async (_, sent, id) => {
  const answer = await sendAny({ headers: json, body: typeof sent === 'string' ? sent : JSON.stringify(sent) });
  const message = `This address needs a sign-in. ${askToSignIn} Hosts that cannot sign people in connect to /mcp instead.`;
  expect(answer).toMatchObject({ status: 401, headers: { 'WWW-Authenticate': `Bearer realm="intent-gate", ${metadata}` } });
  expect(answer.body).toEqual({
    jsonrpc: '2.0',
    ...(id !== undefined && { id }),
    error: {
      code: -32041,
      message,
      data: { error: { code: 'UNAUTHORIZED', message, details: { request_id: 'request-1' } } },
    },
  });
});

const dead: [title: string, authorization: string | string[], code: string, message: RegExp][] = [
  ['an expired PAT', `Bearer ${expired}`, 'UNAUTHORIZED', /^The PAT has expired\. Let the person/],
  ['a revoked PAT', `Bearer ${revoked}`, 'UNAUTHORIZED', /^The PAT has been revoked\. Let the person/],
  ['the PAT of a deleted agent', `Bearer ${await stateOf('delete')}`, 'UNAUTHORIZED', /^The PAT has been revoked\. /],
  [
    'the PAT of a blocked agent',
    `Bearer ${blocked}`,
    'FORBIDDEN',
    /^The operators of this gate have blocked this agent\. .* contact them\.$/,
  ],
  [
    'a PAT for an earlier policy',
    `Bearer ${await sign({ pol: claims.pol.replace(/=.*/, `=${'A'.repeat(43)}`) })}`,
    'FORBIDDEN',
    /^The policy has changed since the PAT was issued\. Let the person/,
  ],
  ['a PAT with a forged signature', `Bearer ${head}.${body}.${'A'.repeat(86)}`, 'UNAUTHORIZED', /^The PAT was not issued by this gate/],
  ['a PAT with a changed claim', `Bearer ${head}.${body.slice(0, -4)}AAAA.${signature}`, 'UNAUTHORIZED', /^The PAT was not issued by/],
  [
    'the claims of a PAT, signed with another key',
    `Bearer ${await signWithOther({ kid, typ: 'JWT' }, claims)}`,
    'UNAUTHORIZED',
    /not issued/,
  ],
  ['an unsigned token', `Bearer ${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.`, 'UNAUTHORIZED', /not issued/],
  [
    'an access token of a user pool',
    `Bearer ${await signWithOther({ kid: 'pool' }, { iss: 'https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Abc123', token_use: 'access' })}`,
    'UNAUTHORIZED',
    /not issued/,
  ],
  ['a PAT for another gate', `Bearer ${await sign({ aud: 'https://other.example' })}`, 'UNAUTHORIZED', /not issued/],
  ['a PAT that is not yet valid', `Bearer ${await sign({ nbf: claims.exp })}`, 'UNAUTHORIZED', /not issued/],
  ['no token at all', 'Bearer', 'UNAUTHORIZED', /^The Authorization header must be sent once/],
  ['a password', 'Basic YTpi', 'UNAUTHORIZED', /^The Authorization header must be sent once/],
  ['two tokens', [`Bearer ${issued}`, `Bearer ${issued}`], 'UNAUTHORIZED', /^The Authorization header must be sent once/],
];
test.each(dead)('/mcp/sign-in answers %s with 401, whatever is asked for', async (_, Authorization, code, message) => {
  for (const sent of [request('initialize', { protocolVersion: '2025-11-25' }), request('tools/list'), search]) {
    const answer = await sendAny({ headers: { Authorization }, body: sent });
    expect(answer).toMatchObject({
      status: 401,
      headers: { 'WWW-Authenticate': `Bearer realm="intent-gate", error="invalid_token", ${metadata}` },
      body: { jsonrpc: '2.0', id: 'call-7', error: { code: -32041, message: expect.stringMatching(message), data: { error: { code } } } },
    });
    expect(JSON.stringify(answer.body)).not.toContain('ey');
  }
});

test.each<Target>(['GET /mcp/sign-in', 'DELETE /mcp/sign-in', 'PUT /mcp/sign-in', 'HEAD /mcp/sign-in'])(
  '%s is answered with 401 as well, and with a valid PAT with 405',
  async (target) => {
    for (const headers of [{}, { Authorization: `Bearer ${expired}` }]) {
      const { status, headers: answered } = await sendAny({ headers }, target);
      expect([status, answered['WWW-Authenticate']]).toEqual([401, expect.stringContaining(metadata)]);
    }
    const { status, headers } = await sendAny({ headers: { Authorization: `Bearer ${issued}` } }, target);
    expect([status, headers.Allow]).toEqual([405, 'POST']);
  },
);

test('/mcp/sign-in does nothing else without a token: no tool runs, and foreign origins learn nothing more', async () => {
  let calls = 0;
  const count: Action = async () => {
    calls++;
    return { status: 200, body: {} };
  };
  const all = { searchIntents: count, getIntent: count, getPolicy: count, issuePat: count, executeIntent: count, getExecution: count };
  const headers = { Origin: 'https://other.example', ...json };
  expect((await sendAny({ headers, body: search }, 'POST /mcp/sign-in', open({ endpoints: all }))).status).toBe(401);
  expect((await sendAny({ headers, body: search }, 'POST /mcp/sign-in/', open({ endpoints: all }))).status).toBe(401);
  const withPat = { ...headers, Authorization: `Bearer ${issued}` };
  expect((await sendAny({ headers: withPat, body: search }, 'POST /mcp/sign-in', open({ endpoints: all }))).status).toBe(403);
  expect(calls).toBe(0);
});

test.each<[string, object]>([
  ['initialize', request('initialize', { protocolVersion: '2025-11-25' })],
  ['tools/list', request('tools/list')],
  ['a search', search],
])('/mcp/sign-in answers %s with a valid PAT', async (_, sent) => {
  const searchIntents: Action = async () => ({ status: 200, body: { intents: [], pagination: paginate(0, 1, 5) } });
  const action = open({ endpoints: { ...endpoints, searchIntents } });
  const { status, body } = await sendAny({ headers: { Authorization: `Bearer ${issued}` }, body: sent }, 'POST /mcp/sign-in', action);
  expect({ status, id: body.id, isRefused: 'error' in body }).toEqual({ status: 200, id: 'call-7', isRefused: false });
});

test('/mcp/sign-in says that it cannot check a token, instead of asking for a sign-in', async () => {
  const admit = () => Promise.reject(unavailable('The gate cannot reach its database. Try again after Retry-After.'));
  const { status, headers } = await sendAny({ headers: { Authorization: `Bearer ${issued}` }, body: search }, undefined, open({ admit }));
  expect([status, headers['WWW-Authenticate']]).toEqual([503, undefined]);
});
