import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CompactSign, exportJWK, generateKeyPair } from 'jose';
import { close, listen } from '../../bin/local/http.ts';
import { stringifyJson } from '../../client/json.ts';
import { type Endpoint, type EndpointName, endpoints } from '../../lib/endpoints.ts';
import { type ErrorCode, errorTable, type Issue } from '../../schemas/errors.ts';
import { fullIntent, intentDetails, intentList, intentPage, savedIntent } from '../../schemas/intent.ts';
import { patResponse } from '../../schemas/pat.ts';
import { policy } from '../../schemas/policy.ts';
import { savedService, service } from '../../schemas/service.ts';
import { type Answer, bodyOf, refusal, startApi } from './api.ts';

const logged: string[] = [];
const api = await startApi({ onLog: (line) => logged.push(line) });
/** what the upstream answers, by path */
const upstreamStatus: Record<string, number> = { '/ok': 200, '/echo': 200, '/refuses': 404, '/fails': 500, '/unknown': 405, '/slow': 0 };

/** the last body that came to `/echo` */
let received: string | undefined;

const upstream = createServer(async (request, response) => {
  if (request.url === '/echo') received = Buffer.concat(await request.toArray()).toString();
  const status = upstreamStatus[request.url ?? ''] ?? 404;
  if (status > 0) response.writeHead(status, { 'Content-Type': 'application/json' }).end('{"name":"France"}');
});
const upstreamUrl = `http://127.0.0.1:${await listen(upstream)}`;
afterAll(async () => {
  await Promise.all([close(upstream), api.stop()]);
});

const unknownService = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
const newUid = (version = 'v1') => `e2e.example:n${randomUUID().slice(0, 8)}:${version}`;
const serviceBody = (service_name = `Name ${randomUUID()}`) => ({
  service_name,
  service_url: 'https://world.example',
  description: 'Facts about the world',
});
const intentBody = (intent_uid: string, path = '/ok') => ({
  intent_uid,
  intent_name: 'Get country',
  description: 'Tells a country from its code',
  input_parameters: [{ name: 'code', type: 'string', required: true, pattern: '^[A-Z]{2}$', description: 'ISO 3166 code' }],
  output_parameters: [{ name: 'name', type: 'string', required: true }],
  endpoint: `${upstreamUrl}${path}`,
  tags: ['geo'],
});
async function createIntent(path?: string, intent_uid = newUid()): Promise<string> {
  bodyOf(await api.asAdmin('POST', `/api/services/${await api.createService()}/intents`, intentBody(intent_uid, path)), 201);
  return intent_uid;
}

/** The intent that the local stack's policy prohibits. */
const prohibitedUid = 'world.example:export-countries:v1';

/** A body for endpoint 5, by a fresh key, for the policy with these changes. */
async function patRequest(changes: object = {}) {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const signed = JSON.stringify({ ...bodyOf(await api.call('GET', '/api/policy')), ...changes });
  return {
    agent_id: `agent-${randomUUID()}`,
    signed_policy: await new CompactSign(Buffer.from(signed)).setProtectedHeader({ alg: 'ES256' }).sign(privateKey),
    agent_public_key: JSON.stringify(await exportJWK(publicKey)),
  };
}

/** What an admin asks of an agent, with the thumbprint of a key that is not its own. */
async function askOfOtherKey(method: string, place = '', body?: object): Promise<Answer> {
  const request = await patRequest();
  bodyOf(await api.call('POST', '/api/pat/issue', { body: request }));
  return api.asAdmin(method, `/api/agents/${request.agent_id}${place}?key_thumbprint=another`, body);
}

const credentialBody = { header_name: 'X-Api-Key', header_value: 'secret' };

/** Every error that the specification lists for an endpoint (section 4.2) and that a request can cause, with that request. */
const errorCases: Partial<Record<EndpointName, Partial<Record<ErrorCode, () => Promise<Answer>>>>> = {
  'search-intents': { INVALID_PARAMETER: () => api.call('GET', '/api/intents/search?page=0') },
  'get-intent': {
    INVALID_PARAMETER: () => api.call('GET', '/api/intents/no-uid'),
    UNAUTHORIZED: () => api.call('GET', `/api/intents/${newUid()}?view=full`, { token: 'not.a.token' }),
    FORBIDDEN: () => api.call('GET', `/api/intents/${newUid()}?view=full`, { token: api.stack.user_token }),
    NOT_FOUND: () => api.call('GET', `/api/intents/${newUid()}`),
  },
  'get-policy': { INVALID_PARAMETER: () => api.call('GET', '/api/policy?view=full') },
  'execute-intent': {
    INVALID_PARAMETER: async () => api.execute(await api.obtainPat(), await createIntent(), {}),
    UNSUPPORTED_MEDIA_TYPE: () => api.call('POST', '/api/intents/execute', { body: '{}', headers: { 'Content-Type': 'text/plain' } }),
    UNAUTHORIZED: async () => api.execute('not.a.pat', newUid(), {}),
    FORBIDDEN: async () => api.execute(await api.obtainPat(), await createIntent('/ok', prohibitedUid), { code: 'FR' }),
    NOT_FOUND: async () => api.execute(await api.obtainPat(), newUid(), {}),
    SERVICE_UNAVAILABLE: async () => {
      const uid = newUid();
      await api.asAdmin('POST', `/api/services/${await api.createService()}/intents`, {
        ...intentBody(uid),
        endpoint: 'http://127.0.0.1:1/',
      });
      return api.execute(await api.obtainPat(), uid, { code: 'FR' });
    },
    VERSION_CONFLICT: async () => {
      const uid = await createIntent('/ok', newUid('v2'));
      return api.execute(await api.obtainPat(), uid.replace('v2', 'v1'), {});
    },
    INTENT_DEPRECATED: async () => {
      const uid = await createIntent();
      await api.asAdmin('PUT', `/api/intents/${uid}`, { ...intentBody(uid), deprecated: true });
      return api.execute(await api.obtainPat(), uid, { code: 'FR' });
    },
    CONFLICT: async () => {
      const [pat, uid] = [await api.obtainPat(), await createIntent()];
      await api.execute(pat, uid, { code: 'FR' }, { 'Idempotency-Key': 'a' });
      return api.execute(pat, uid, { code: 'DE' }, { 'Idempotency-Key': 'a' });
    },
    TOO_MANY_REQUESTS: async () => {
      const [pat, uid] = [await api.obtainPat(), await createIntent()];
      const answers = await Promise.all(Array.from({ length: 61 }, () => api.execute(pat, uid, { code: 'FR' })));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(60);
      return answers.find(({ status }) => status === 429) as Answer;
    },
    INTENT_EXECUTION_FAILED: async () => api.execute(await api.obtainPat(), await createIntent('/fails'), { code: 'FR' }),
    INTENT_NOT_SUPPORTED: async () => api.execute(await api.obtainPat(), await createIntent('/unknown'), { code: 'FR' }),
  },
  'get-execution': {
    UNAUTHORIZED: () => api.call('GET', '/api/executions/none', { token: 'not.a.pat' }),
    FORBIDDEN: async () => {
      const [agentId, uid] = [`agent-${randomUUID()}`, await createIntent()];
      const pat = await api.obtainPat(agentId);
      const asked = await api.execute(pat, uid, { code: 'FR' }, { 'Idempotency-Key': 'later', Prefer: 'respond-async' });
      const { execution } = bodyOf(asked, 202);
      bodyOf(await api.asAdmin('PUT', `/api/agents/${agentId}/block`, { reason: 'a test' }));
      return api.call('GET', new URL(execution).pathname, { token: pat });
    },
    NOT_FOUND: async () => api.call('GET', '/api/executions/none', { token: await api.obtainPat() }),
  },
  'get-proof': { NOT_FOUND: () => api.call('GET', '/api/executions/none/proof') },
  'get-log': { NOT_FOUND: () => api.call('GET', '/log/tile/0/999') },
  'list-executions': { INVALID_PARAMETER: () => api.asAdmin('GET', '/api/executions') },
  'get-policy-trial': {
    INVALID_PARAMETER: () => api.asAdmin('GET', '/api/policy/try?period=year'),
    NOT_FOUND: () => api.asAdmin('GET', '/api/policy/try'),
  },
  'list-approvals': { INVALID_PARAMETER: () => api.asAdmin('GET', '/api/approvals?page_size=0') },
  'decide-approval': {
    INVALID_PARAMETER: () => api.asAdmin('POST', '/api/approvals/none', { decision: 'maybe' }),
    NOT_FOUND: () => api.asAdmin('POST', '/api/approvals/none', { decision: 'deny' }),
  },
  'issue-pat': {
    INVALID_SIGNATURE: async () =>
      api.call('POST', '/api/pat/issue', { body: { ...(await patRequest()), signed_policy: 'bm8gc2lnbmF0dXJl' } }),
    TOO_MANY_REQUESTS: async () => {
      const body = await patRequest();
      const answers = await Promise.all(Array.from({ length: 61 }, () => api.call('POST', '/api/pat/issue', { body })));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(60);
      return answers.find(({ status }) => status === 429) as Answer;
    },
    POLICY_REJECTED: async () =>
      api.call('POST', '/api/pat/issue', { body: await patRequest({ uid: 'https://world.example/another-policy' }) }),
    INVALID_PARAMETER: () => api.call('POST', '/api/pat/issue', { body: {} }),
    UNSUPPORTED_MEDIA_TYPE: () => api.call('POST', '/api/pat/issue', { body: '{}', headers: { 'Content-Type': 'text/plain' } }),
  },
  'put-service-credential': {
    INVALID_PARAMETER: async () => api.asAdmin('PUT', `/api/services/${await api.createService()}/credential`, {}),
    NOT_FOUND: () => api.asAdmin('PUT', `/api/services/${unknownService}/credential`, credentialBody),
    CONFLICT: async () =>
      api.asAdmin('PUT', `/api/services/${await api.createService()}/credential`, credentialBody, { 'If-Match': '"stale"' }),
  },
  'delete-service-credential': {
    NOT_FOUND: () => api.asAdmin('DELETE', `/api/services/${unknownService}/credential`),
    CONFLICT: async () =>
      api.asAdmin('DELETE', `/api/services/${await api.createService()}/credential`, undefined, { 'If-Match': '"stale"' }),
  },
  'get-change': { NOT_FOUND: () => api.asAdmin('GET', '/api/changes/999999') },
  'list-changes': { INVALID_PARAMETER: () => api.asAdmin('GET', '/api/changes?page_size=0') },
  'clear-waiting-agents': { INVALID_PARAMETER: () => api.asAdmin('DELETE', '/api/agents') },
  'get-agent': {
    NOT_FOUND: () => api.asAdmin('GET', '/api/agents/nobody'),
    INVALID_PARAMETER: () => api.asAdmin('GET', `/api/agents/nobody?key_thumbprint=${'a'.repeat(101)}`),
    CONFLICT: () => askOfOtherKey('GET'),
  },
  'revoke-agent': {
    NOT_FOUND: () => api.asAdmin('POST', '/api/agents/nobody/revoke'),
    INVALID_PARAMETER: () => api.asAdmin('POST', `/api/agents/nobody/revoke?key_thumbprint=${'a'.repeat(101)}`),
    CONFLICT: () => askOfOtherKey('POST', '/revoke'),
  },
  'list-agents': { INVALID_PARAMETER: () => api.asAdmin('GET', '/api/agents?state=asleep') },
  'approve-agent': {
    INVALID_PARAMETER: () => api.asAdmin('POST', '/api/agents/nobody/approve', { key_thumbprint: 1 }),
    NOT_FOUND: () => api.asAdmin('POST', '/api/agents/nobody/approve', {}),
    CONFLICT: async () => {
      await api.asAdmin('PUT', '/api/agents/blocked-one/block', { reason: 'a test' });
      return api.asAdmin('POST', '/api/agents/blocked-one/approve', {});
    },
  },
  'approve-agent-domain': { INVALID_PARAMETER: () => api.asAdmin('PUT', '/api/agent-domains/none') },
  'remove-agent-domain': { NOT_FOUND: () => api.asAdmin('DELETE', '/api/agent-domains/none.example') },
  'block-agent': {
    INVALID_PARAMETER: () => api.asAdmin('PUT', '/api/agents/nobody/block', {}),
    NOT_FOUND: () => api.asAdmin('PUT', `/api/agents/${'a'.repeat(300)}/block`, { reason: 'a test' }),
    CONFLICT: () => askOfOtherKey('PUT', '/block', { reason: 'a test' }),
  },
  'unblock-agent': {
    NOT_FOUND: () => api.asAdmin('DELETE', '/api/agents/nobody/block'),
    INVALID_PARAMETER: () => api.asAdmin('DELETE', `/api/agents/nobody/block?key_thumbprint=${'a'.repeat(101)}`),
    CONFLICT: () => askOfOtherKey('DELETE', '/block'),
  },
  'delete-agent': {
    NOT_FOUND: () => api.asAdmin('DELETE', '/api/agents/nobody'),
    INVALID_PARAMETER: () => api.asAdmin('DELETE', `/api/agents/nobody?key_thumbprint=${'a'.repeat(101)}`),
    CONFLICT: () => askOfOtherKey('DELETE'),
  },
  mcp: {
    UNSUPPORTED_MEDIA_TYPE: () => api.call('POST', '/mcp', { body: '{}', headers: { 'Content-Type': 'text/plain' } }),
    FORBIDDEN: () => api.call('POST', '/mcp', { body: {}, headers: { Origin: 'https://page.example' } }),
  },
  'create-service': {
    INVALID_PARAMETER: () => api.asAdmin('POST', '/api/services', {}),
    CONFLICT: async () => {
      const body = serviceBody();
      await api.asAdmin('POST', '/api/services', body);
      return api.asAdmin('POST', '/api/services', { ...body, service_name: ` ${body.service_name.toUpperCase()} ` });
    },
  },
  'update-service': {
    INVALID_PARAMETER: async () => api.asAdmin('PUT', `/api/services/${await api.createService()}`, { service_id: 'mine' }),
    NOT_FOUND: () => api.asAdmin('PUT', `/api/services/${unknownService}`, serviceBody()),
    CONFLICT: async () => api.asAdmin('PUT', `/api/services/${await api.createService()}`, serviceBody(), { 'If-Match': '"stale"' }),
  },
  'delete-service': {
    NOT_FOUND: () => api.asAdmin('DELETE', `/api/services/${unknownService}`),
    CONFLICT: async () => api.asAdmin('DELETE', `/api/services/${await api.createService()}`, undefined, { 'If-Match': '"stale"' }),
  },
  'get-service': { NOT_FOUND: () => api.call('GET', `/api/services/${unknownService}`) },
  'get-own-description': { INVALID_PARAMETER: () => api.call('GET', '/agents.json?page_size=101') },
  'list-services': { INVALID_PARAMETER: () => api.call('GET', '/api/services?page_size=101') },
  'list-service-intents': {
    INVALID_PARAMETER: async () => api.call('GET', `/api/services/${await api.createService()}/intents?page_size=101`),
    UNAUTHORIZED: () => api.call('GET', `/api/services/${unknownService}/intents`, { token: 'not.a.token' }),
    FORBIDDEN: () => api.call('GET', `/api/services/${unknownService}/intents`, { token: api.stack.user_token }),
    NOT_FOUND: () => api.call('GET', `/api/services/${unknownService}/intents`),
  },
  'get-stats': { INVALID_PARAMETER: () => api.asAdmin('GET', '/api/stats?period=year') },
  'get-service-description': {
    INVALID_PARAMETER: async () => api.call('GET', `/api/services/${await api.createService()}/description?page=0`),
    NOT_FOUND: () => api.call('GET', `/api/services/${unknownService}/description`),
  },
  'get-docs-asset': { NOT_FOUND: () => api.call('GET', '/docs/index.mjs') },
  'create-intent': {
    INVALID_PARAMETER: async () => api.asAdmin('POST', `/api/services/${await api.createService()}/intents`, {}),
    NOT_FOUND: () => api.asAdmin('POST', `/api/services/${unknownService}/intents`, intentBody(newUid())),
    CONFLICT: async () => api.asAdmin('POST', `/api/services/${await api.createService()}/intents`, intentBody(await createIntent())),
  },
  'change-intents': {
    INVALID_PARAMETER: async () => api.asAdmin('POST', `/api/services/${await api.createService()}/changes`, { create: [{}] }),
    NOT_FOUND: () => api.asAdmin('POST', `/api/services/${unknownService}/changes`, { create: [intentBody(newUid())] }),
    CONFLICT: async () =>
      api.asAdmin('POST', `/api/services/${await api.createService()}/changes`, { create: [intentBody(await createIntent())] }),
  },
  'update-intent': {
    INVALID_PARAMETER: async () => api.asAdmin('PUT', `/api/intents/${await createIntent()}`, intentBody(newUid())),
    NOT_FOUND: () => {
      const uid = newUid();
      return api.asAdmin('PUT', `/api/intents/${uid}`, intentBody(uid));
    },
    CONFLICT: async () => {
      const uid = await createIntent();
      return api.asAdmin('PUT', `/api/intents/${uid}`, intentBody(uid), { 'If-Match': '"stale"' });
    },
  },
  'delete-intent': {
    NOT_FOUND: () => api.asAdmin('DELETE', `/api/intents/${newUid()}`),
    CONFLICT: async () => api.asAdmin('DELETE', `/api/intents/${await createIntent()}`, undefined, { 'If-Match': '"stale"' }),
  },
};

/** The refusals that all admin endpoints share. */
function adminCases({ method, path, errors }: Endpoint): Partial<Record<ErrorCode, () => Promise<Answer>>> {
  const concrete = path
    .replace('{service_id}', unknownService)
    .replace('{intent_uid}', 'e2e.example:none:v1')
    .replace('{agent_id}', 'nobody');
  const body = errors.includes('UNSUPPORTED_MEDIA_TYPE') ? { body: {} } : {};
  return {
    UNAUTHORIZED: () => api.call(method, concrete, body),
    FORBIDDEN: () => api.call(method, concrete, { token: api.stack.user_token, ...body }),
    ...(errors.includes('UNSUPPORTED_MEDIA_TYPE') && {
      UNSUPPORTED_MEDIA_TYPE: () =>
        api.call(method, concrete, { token: api.stack.admin_token, body: '{}', headers: { 'Content-Type': 'text/plain' } }),
    }),
  };
}

const casesOf = (endpoint: Endpoint) => ({ ...(endpoint.credential === 'admin' && adminCases(endpoint)), ...errorCases[endpoint.name] });

const refusing = endpoints
  .filter((endpoint) => Object.keys(casesOf(endpoint)).length > 0)
  .map((endpoint) => ({ title: `${endpoint.method} ${endpoint.path}`, cases: casesOf(endpoint) }));

describe.each(refusing)('$title', ({ cases }) => {
  test.each(Object.entries(cases).map(([code, request]) => ({ code: code as ErrorCode, request })))('$code', async ({ code, request }) => {
    const { status, body, headers } = await request();
    expect({ status, code: body?.error?.code }).toEqual({ status: errorTable[code].status, code });
    if (status === 401) expect(headers.get('www-authenticate')).toMatch(/^Bearer /);
    if (status === 429 || status === 503) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

/** The exception takes many seconds. */
const untried: ErrorCode[] = ['GATEWAY_TIMEOUT'];

/** Takes a policy that demands approval: test/e2e/approvals.check.ts. */
const elsewhere: Partial<Record<EndpointName, ErrorCode>> = { 'decide-approval': 'CONFLICT' };

test('every other refusal that the endpoint table lists has a case', () => {
  const missing = endpoints.flatMap((endpoint) =>
    endpoint.errors
      .filter((code) => !Object.hasOwn(casesOf(endpoint), code) && !untried.includes(code) && elsewhere[endpoint.name] !== code)
      .map((code) => `${endpoint.name} ${code}`),
  );
  expect(missing).toEqual([]);
});

test('an admin registers, an agent finds, is authorised and executes, the admin deletes', async () => {
  const body = serviceBody();
  const created = await api.asAdmin('POST', '/api/services', { ...body, policy_url: 'https://world.example/policy' });
  expect(savedService.parse(bodyOf(created, 201))).toEqual({ ...body, service_id: expect.any(String) });
  const servicePath = `/api/services/${created.body.service_id}`;
  expect(created.headers.get('location')).toBe(`${api.stack.base_url}${servicePath}`);

  const read = await api.call('GET', servicePath);
  expect(service.parse(bodyOf(read))).toEqual({ ...created.body, policy_url: 'https://world.example/policy' });
  expect(read.headers.get('etag')).toBe(created.headers.get('etag'));
  expect((await api.call('GET', servicePath, { headers: { 'If-None-Match': read.headers.get('etag') ?? '' } })).status).toBe(304);

  const uid = newUid();
  const saved = await api.asAdmin('POST', `${servicePath}/intents`, intentBody(uid));
  expect(savedIntent.parse(bodyOf(saved, 201))).toEqual({
    intent_id: uid,
    intent_uid: uid,
    intent_name: 'Get country',
    description: 'Tells a country from its code',
  });

  const details = {
    intent_uid: uid,
    service_name: body.service_name,
    intent_name: 'Get country',
    description: 'Tells a country from its code',
    input_parameters: [{ name: 'code', type: 'string', required: true, description: 'ISO 3166 code' }],
    output_parameters: [{ name: 'name', type: 'string', required: true }],
    endpoint: `${upstreamUrl}/ok`,
    tags: ['geo'],
    digest: expect.stringMatching(/^[\w-]{43}[.][\w-]{32}$/),
  };
  const found = await api.call('GET', `/api/intents/search?query=${uid.split(':')[1]}+country&uid=${uid}`);
  expect(intentPage.parse(bodyOf(found))).toEqual({
    intents: [details],
    pagination: { total_results: 1, total_pages: 1, current_page: 1, page_size: 10 },
  });
  expect(intentDetails.parse(bodyOf(await api.call('GET', `/api/intents/${encodeURIComponent(uid)}`)))).toEqual(details);
  expect(fullIntent.parse(bodyOf(await api.call('GET', `/api/intents/${uid}?view=full`)))).toMatchObject({
    intent_id: uid,
    endpoint: { url: `${upstreamUrl}/ok`, method: 'POST', content_type: 'application/json' },
    version: 'v1',
    deprecated: false,
    input_parameters: [{ pattern: '^[A-Z]{2}$' }],
  });
  expect(intentList.parse(bodyOf(await api.call('GET', `${servicePath}/intents`))).intents).toEqual([
    { ...saved.body, tags: ['geo'], method: 'POST', url: `${upstreamUrl}/ok` },
  ]);
  expect(policy.parse(bodyOf(await api.call('GET', '/api/policy'))).uid).toBe(`${api.stack.base_url}/api/policy`);

  const pat = await api.obtainPat();
  const executed = await api.execute(pat, uid, { code: 'FR' });
  expect({ status: executed.status, body: executed.body }).toEqual({ status: 200, body: { name: 'France' } });

  const renamed = `Renamed ${randomUUID()}`;
  expect((await api.asAdmin('PUT', servicePath, { ...body, service_name: renamed })).status).toBe(200);
  expect(bodyOf(await api.call('GET', `/api/intents/search?uid=${uid}`)).intents[0].service_name).toBe(renamed);
  expect(bodyOf(await api.call('GET', `/api/intents/${uid}`)).service_name).toBe(renamed);
  expect(bodyOf(await api.call('GET', servicePath))).not.toHaveProperty('policy_url');

  expect((await api.asAdmin('PUT', `/api/intents/${uid}`, { ...intentBody(uid), intent_name: 'Look up country' })).status).toBe(200);
  expect(bodyOf(await api.call('GET', `/api/intents/search?uid=${uid}`)).intents[0].intent_name).toBe('Look up country');

  const deleted = await api.asAdmin('DELETE', servicePath);
  expect({ status: deleted.status, body: deleted.body }).toEqual({ status: 204, body: undefined });
  expect(bodyOf(await api.call('GET', `/api/intents/search?uid=${uid}`)).pagination.total_results).toBe(0);
  expect((await api.call('GET', `/api/intents/${uid}`)).status).toBe(404);
  expect((await api.call('GET', `${servicePath}/intents`)).status).toBe(404);
  expect(await api.execute(pat, uid, { code: 'FR' })).toEqual(
    refusal(404, 'NOT_FOUND', 'No intent has this intent_uid. Find one with GET /api/intents/search.'),
  );
});

test('an unknown uid is answered with the nearest ones, when it is read and when it is executed', async () => {
  const uid = await createIntent('/ok', 'e2e.example:weigh-elephants:v1');
  const misspelt = uid.replace('phants', 'fants');
  const message = 'No intent has this intent_uid. Find one with GET /api/intents/search.';
  const [pat, before] = [await api.obtainPat(), logged.length];
  expect(await api.execute('not.a.pat', misspelt, {})).toMatchObject({ status: 401 });
  expect(bodyOf(await api.call('GET', `/api/intents/${uid}`)).intent_uid).toBe(uid);
  expect(searches(before)).toEqual([]);
  for (const answer of [await api.call('GET', `/api/intents/${misspelt}`), await api.execute(pat, misspelt, {})]) {
    expect(answer).toEqual(refusal(404, 'NOT_FOUND', message, { nearest: [uid] }));
    expect(searches(before)).toContain(answer.headers.get('x-request-id'));
  }
  const strange = await api.call('GET', '/api/intents/quux.test:frobnicate:v1');
  expect(strange).toEqual(refusal(404, 'NOT_FOUND', message));
  expect(strange.body.error.details).not.toHaveProperty('nearest');
});

/** The request ids of the searches since a moment of the log. */
const searches = (since: number): string[] =>
  logged
    .slice(since)
    .map((line) => JSON.parse(line))
    .flatMap(({ message, endpoint, request_id }) => (message === 'answered' && endpoint === 'GET /api/intents/search' ? [request_id] : []));

describe('a body of lists and objects', () => {
  const text = { type: 'string' } as const;
  const schema = {
    lines: {
      type: 'array',
      minItems: 1,
      items: { type: 'object', required: ['sku'], properties: { sku: text, count: { type: 'integer', minimum: 1 } } },
    },
    ship_to: { type: 'object', required: ['city'], properties: { city: text, tags: { type: 'array', items: text } } },
  };
  const order = { lines: [{ sku: 'A', count: 12345678901234567n }, { sku: 'B' }], ship_to: { city: 'Zürich', tags: ['a', 'b'] } };
  const uid = newUid();
  let pat: string;
  beforeAll(async () => {
    pat = await api.obtainPat();
    const input_parameters = [
      { name: 'lines', type: 'array', required: true, schema: schema.lines },
      { name: 'ship_to', type: 'object', required: true, schema: schema.ship_to },
    ];
    const body = { ...intentBody(uid, '/echo'), input_parameters, output_parameters: [] };
    bodyOf(await api.asAdmin('POST', `/api/services/${await api.createService()}/intents`, body), 201);
  });

  test('is described with what is inside it', async () => {
    const { input_parameters } = bodyOf(await api.call('GET', `/api/intents/${uid}?view=full`));
    expect(input_parameters).toEqual([
      expect.objectContaining({ schema: schema.lines }),
      expect.objectContaining({ schema: schema.ship_to }),
    ]);
  });

  test('reaches the service as it was given', async () => {
    const sent = stringifyJson({ intent_uid: uid, parameters: order });
    expect((await api.call('POST', '/api/intents/execute', { token: pat, body: sent })).status).toBe(200);
    expect(received).toBe(stringifyJson(order));
  });

  test.each<[string, object, string[]]>([
    ['a member of an item', { lines: [{ sku: 'A' }, { sku: 1 }] }, ['/parameters/lines/1/sku must be a string']],
    ['a bound', { lines: [{ sku: 'A', count: 0 }] }, ['/parameters/lines/0/count must be at least 1']],
    ['a list that is none', { lines: { sku: 'A' } }, ['/parameters/lines must be an array']],
    ['an empty list', { lines: [] }, ['/parameters/lines must have at least 1 items']],
    ['a list in an object', { ship_to: { city: 'Bern', tags: ['a', null] } }, ['/parameters/ship_to/tags/1 must be a string']],
    ['several', { lines: [{}], ship_to: {} }, ['/parameters/lines/0/sku is required', '/parameters/ship_to/city is required']],
  ])('is refused, and the place is named: %s', async (_, wrong, problems) => {
    received = undefined;
    const { status, body } = await api.execute(pat, uid, { lines: [{ sku: 'A' }], ship_to: { city: 'Bern' }, ...wrong });
    expect({ status, code: body.error.code }).toEqual({ status: 400, code: 'INVALID_PARAMETER' });
    expect(body.error.details.issues.map(({ path, problem }: Issue) => `${path} ${problem}`)).toEqual(problems);
    expect(received).toBeUndefined();
  });
});

test('a PAT response has its schema, and its keys are published', async () => {
  const pat = await api.obtainPat();
  const [header = ''] = pat.split('.');
  const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString());
  const { keys } = bodyOf(await api.call('GET', '/.well-known/jwks.json'));
  expect(keys).toEqual([expect.objectContaining({ kid, kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' })]);
  expect(keys[0]).not.toHaveProperty('d');
  expect(patResponse('proto').safeParse({ 'proto-pat': pat, expires_at: new Date().toISOString() }).success).toBe(true);
});

test.each(['/api', '/api/pat', '/api/nothing', '/api/services/x/y/z', '/api/intents/a/b', '/nothing/at/all'])(
  '%s is answered 404',
  async (path) => {
    for (const options of [{}, { token: 'rubbish' }]) {
      expect(await api.call('GET', path, options)).toMatchObject({ status: 404, body: { error: { code: 'NOT_FOUND' } } });
      expect(await api.call('POST', path, { ...options, body: {} })).toMatchObject({ status: 404, body: { error: { code: 'NOT_FOUND' } } });
    }
  },
);

test('the health check is answered without a function, in the form of every answer', async () => {
  const { status, headers, body } = await api.call('GET', '/health');
  expect({ status, body }).toEqual({ status: 200, body: { status: 'ok' } });
  expect(Object.fromEntries(headers)).toMatchObject({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  expect(await api.call('POST', '/health', { body: {} })).toMatchObject({ status: 405, body: { error: { code: 'METHOD_NOT_ALLOWED' } } });
});

test('HEAD is answered as GET, without the content', async () => {
  const at = (method: string, path: string) => fetch(`${api.stack.base_url}${path}`, { method });
  for (const [path, status] of [
    ['/health', 200],
    ['/api/policy', 200],
    ['/api/intents/search?page_size=1', 200],
    [`/api/services/${await api.createService()}`, 200],
    ['/api/services/none', 404],
    ['/docs', 200],
    ['/nothing', 404],
  ] as const) {
    const [head, get] = [await at('HEAD', path), await at('GET', path)];
    expect([path, head.status, await head.text()]).toEqual([path, status, '']);
    expect([path, get.status]).toEqual([path, status]);
    for (const name of ['content-type', 'etag', 'cache-control'])
      expect([path, head.headers.get(name)]).toEqual([path, get.headers.get(name)]);
  }
});

test('an endpoint that needs no token ignores one', async () => {
  for (const path of ['/api/policy', '/api/intents/search', `/api/services/${await api.createService()}`]) {
    expect((await api.call('GET', path, { token: 'rubbish' })).status).toBe(200);
  }
});
