import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import { CompactSign, exportJWK, generateKeyPair } from 'jose';
import { type Endpoint, type EndpointName, endpoints } from '../../lib/endpoints.ts';
import { type ErrorCode, errorTable } from '../../schemas/errors.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { startUpstream } from '../support/upstream.ts';
import { type Answer, bodyOf, refusal, startApi } from './api.ts';

const logged: string[] = [];
const api = await startApi({ onLog: (line) => logged.push(line) });
/** what the upstream answers, by path */
const upstreamStatus: Record<string, number> = { '/ok': 200, '/fails': 500, '/unknown': 405 };
const upstream = await startUpstream(({ url }, response) =>
  response.writeHead(upstreamStatus[url] ?? 404, { 'Content-Type': 'application/json' }).end('{"name":"France"}'),
);
const upstreamUrl = `http://127.0.0.1:${upstream.port}`;
afterAll(async () => {
  await Promise.all([upstream.stop(), api.stop()]);
});

const newUid = (version = 'v1') => `e2e.example:n${randomUUID().slice(0, 8)}:${version}`;
const intentBody = (intent_uid: string, url = `${upstreamUrl}/ok`) => ({ ...intentOf(intent_uid), endpoint: url });

async function createIntent(url?: string, intent_uid = newUid()): Promise<string> {
  await api.createIntent(intentBody(intent_uid, url));
  return intent_uid;
}

/** Executes a fresh intent as a fresh agent. */
const executeNew = async (url?: string, uid?: string, parameters: object = { code: 'FR' }): Promise<Answer> =>
  api.execute(await api.obtainPat(), await createIntent(url, uid), parameters);

/** The refusal of one of 61 requests at the same time, 60 of which are permitted. */
async function refusedOf61(make: () => Promise<Answer>): Promise<Answer> {
  const answers = await Promise.all(Array.from({ length: 61 }, make));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(60);
  return answers.find(({ status }) => status === 429) as Answer;
}

/** A PAT request with a fresh key, for the policy with these changes. */
async function patRequest(changes: object = {}) {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const signed = JSON.stringify({ ...bodyOf(await api.call('GET', '/api/policy')), ...changes });
  return {
    agent_id: `agent-${randomUUID()}`,
    signed_policy: await new CompactSign(Buffer.from(signed)).setProtectedHeader({ alg: 'ES256' }).sign(privateKey),
    agent_public_key: JSON.stringify(await exportJWK(publicKey)),
  };
}

const issue = async (changes: object = {}, policyChanges?: object): Promise<Answer> =>
  api.call('POST', '/api/pat/issue', { body: { ...(await patRequest(policyChanges)), ...changes } });

const rowOf = (name: EndpointName): Endpoint => endpoints.find((endpoint) => endpoint.name === name) as Endpoint;

/** What stands for the variables of paths: nothing that exists, or records of these ids. */
const nothing = {
  service_id: '01ARZ3NDEKTSV4RRFFQ69G5FAV',
  intent_uid: 'e2e.example:none:v1',
  agent_id: 'nobody',
  id: 'none',
  domain: 'none.example',
  seq: '999999',
  asset: 'index.mjs',
};
const addressOf = ({ path }: Endpoint, given: Partial<typeof nothing> = {}): string =>
  path.replace(/\{([^}]+)\}/g, (_, name: keyof typeof nothing) => ({ ...nothing, ...given })[name]);

/** A body that its schema allows. */
const validBodies: Partial<Record<EndpointName, (uid: string) => unknown>> = {
  'put-service-credential': () => ({ header_name: 'X-Api-Key', header_value: 'secret' }),
  'update-service': () => serviceNamed(`Name ${randomUUID()}`),
  'create-intent': intentBody,
  'change-intents': (uid) => ({ create: [intentBody(uid)] }),
  'update-intent': intentBody,
  'decide-approval': () => ({ decision: 'deny' }),
  'approve-agent': () => ({}),
  'block-agent': () => ({ reason: 'a test' }),
};

/** Calls an endpoint with all that it needs. */
function callAs(name: EndpointName, given: Partial<typeof nothing> = {}, more: { query?: string; body?: unknown; ifMatch?: string } = {}) {
  const row = rowOf(name);
  const { query = '', body = validBodies[name]?.(given.intent_uid ?? nothing.intent_uid), ifMatch } = more;
  return api.call(row.method, addressOf(row, given) + query, {
    ...(row.credential === 'admin' && { token: api.stack.admin_token }),
    ...(body !== undefined && { body }),
    ...(ifMatch !== undefined && { headers: { 'If-Match': ifMatch } }),
  });
}

type Cases = Partial<Record<EndpointName, Partial<Record<ErrorCode, () => Promise<Answer>>>>>;
const casesFor = (names: EndpointName[], code: ErrorCode, make: (name: EndpointName) => Promise<Answer>): Cases =>
  Object.fromEntries(names.map((name) => [name, { [code]: () => make(name) }]));

const longThumbprint = `?key_thumbprint=${'a'.repeat(101)}`;
const invalidQueries: Partial<Record<EndpointName, string>> = {
  'search-intents': '?page=0',
  'get-policy': '?view=full',
  'list-executions': '',
  'get-policy-trial': '?period=year',
  'list-approvals': '?page_size=0',
  'list-changes': '?page_size=0',
  'clear-waiting-agents': '',
  'get-agent': longThumbprint,
  'revoke-agent': longThumbprint,
  'list-agents': '?state=asleep',
  'unblock-agent': longThumbprint,
  'delete-agent': longThumbprint,
  'get-own-description': '?page_size=101',
  'list-services': '?page_size=101',
  'get-stats': '?period=year',
};
const invalidBodies: Partial<Record<EndpointName, unknown>> = {
  'decide-approval': { decision: 'maybe' },
  'issue-pat': {},
  'put-service-credential': {},
  'approve-agent': { key_thumbprint: 1 },
  'block-agent': {},
  'create-service': {},
  'update-service': { service_id: 'mine' },
  'create-intent': {},
  'change-intents': { create: [{}] },
};
const namesIn = (table: object) => Object.keys(table) as EndpointName[];
const onService: EndpointName[] = ['update-service', 'delete-service', 'put-service-credential', 'delete-service-credential'];
const onIntent: EndpointName[] = ['update-intent', 'delete-intent'];
const onAgent: EndpointName[] = ['get-agent', 'revoke-agent', 'unblock-agent', 'delete-agent'];
const onList: EndpointName[] = ['list-service-intents', 'get-service-description'];

/** Every refusal of an endpoint that a request can cause, with that request; what several endpoints share stands first. */
const errorCases: Cases[] = [
  casesFor(
    [...onService, ...onIntent, ...onAgent, ...onList, 'get-intent', 'get-service', 'get-change', 'get-proof', 'get-docs-asset'],
    'NOT_FOUND',
    callAs,
  ),
  casesFor(['create-intent', 'change-intents', 'decide-approval', 'approve-agent', 'remove-agent-domain'], 'NOT_FOUND', callAs),
  casesFor(namesIn(invalidQueries), 'INVALID_PARAMETER', (name) => callAs(name, {}, { query: invalidQueries[name] ?? '' })),
  casesFor(namesIn(invalidBodies), 'INVALID_PARAMETER', (name) => callAs(name, {}, { body: invalidBodies[name] })),
  casesFor(onList, 'INVALID_PARAMETER', async (name) =>
    callAs(name, { service_id: await api.createService() }, { query: '?page_size=101' }),
  ),
  casesFor(onService, 'CONFLICT', async (name) => callAs(name, { service_id: await api.createService() }, { ifMatch: '"stale"' })),
  casesFor(onIntent, 'CONFLICT', async (name) => callAs(name, { intent_uid: await createIntent() }, { ifMatch: '"stale"' })),
  casesFor(['create-intent', 'change-intents'], 'CONFLICT', async (name) =>
    callAs(name, { service_id: await api.createService(), intent_uid: await createIntent() }),
  ),
  casesFor([...onAgent, 'block-agent'], 'CONFLICT', async (name) => {
    const body = await patRequest();
    bodyOf(await api.call('POST', '/api/pat/issue', { body }));
    return callAs(name, { agent_id: body.agent_id }, { query: '?key_thumbprint=another' });
  }),
  casesFor(['get-intent', 'list-service-intents'], 'UNAUTHORIZED', (name) =>
    api.call('GET', `${addressOf(rowOf(name))}?view=full`, { token: 'not.a.token' }),
  ),
  casesFor(['get-intent', 'list-service-intents'], 'FORBIDDEN', (name) =>
    api.call('GET', `${addressOf(rowOf(name))}?view=full`, { token: api.stack.user_token }),
  ),
  casesFor(['execute-intent', 'issue-pat', 'mcp'], 'UNSUPPORTED_MEDIA_TYPE', (name) =>
    api.call('POST', rowOf(name).path, { body: '{}', headers: { 'Content-Type': 'text/plain' } }),
  ),
  {
    'get-intent': { INVALID_PARAMETER: () => callAs('get-intent', { intent_uid: 'no-uid' }) },
    'execute-intent': {
      INVALID_PARAMETER: () => executeNew(undefined, undefined, {}),
      UNAUTHORIZED: () => api.execute('not.a.pat', newUid(), {}),
      // the intent that the local stack's policy prohibits
      FORBIDDEN: () => executeNew(undefined, 'world.example:export-countries:v1'),
      NOT_FOUND: async () => api.execute(await api.obtainPat(), newUid(), {}),
      SERVICE_UNAVAILABLE: () => executeNew('http://127.0.0.1:1/'),
      VERSION_CONFLICT: async () => {
        const uid = await createIntent(undefined, newUid('v2'));
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
        return refusedOf61(() => api.execute(pat, uid, { code: 'FR' }));
      },
      INTENT_EXECUTION_FAILED: () => executeNew(`${upstreamUrl}/fails`),
      INTENT_NOT_SUPPORTED: () => executeNew(`${upstreamUrl}/unknown`),
    },
    'get-execution': {
      UNAUTHORIZED: () => api.call('GET', '/api/executions/none', { token: 'not.a.pat' }),
      FORBIDDEN: async () => {
        const [agentId, uid] = [`agent-${randomUUID()}`, await createIntent()];
        const pat = await api.obtainPat(agentId);
        const asked = await api.execute(pat, uid, { code: 'FR' }, { 'Idempotency-Key': 'later', Prefer: 'respond-async' });
        const { execution } = bodyOf(asked, 202);
        bodyOf(await callAs('block-agent', { agent_id: agentId }));
        return api.call('GET', new URL(execution).pathname, { token: pat });
      },
      NOT_FOUND: async () => api.call('GET', '/api/executions/none', { token: await api.obtainPat() }),
    },
    'get-policy-trial': { NOT_FOUND: () => callAs('get-policy-trial') },
    'issue-pat': {
      INVALID_SIGNATURE: () => issue({ signed_policy: 'bm8gc2lnbmF0dXJl' }),
      TOO_MANY_REQUESTS: async () => {
        const body = await patRequest();
        return refusedOf61(() => api.call('POST', '/api/pat/issue', { body }));
      },
      POLICY_REJECTED: () => issue({}, { uid: 'https://world.example/another-policy' }),
    },
    'approve-agent': {
      CONFLICT: async () => {
        await callAs('block-agent', { agent_id: 'blocked-one' });
        return callAs('approve-agent', { agent_id: 'blocked-one' });
      },
    },
    'approve-agent-domain': { INVALID_PARAMETER: () => callAs('approve-agent-domain', { domain: 'none' }) },
    'block-agent': { NOT_FOUND: () => callAs('block-agent', { agent_id: 'a'.repeat(300) }) },
    'get-log': { NOT_FOUND: () => api.call('GET', '/log/tile/0/999') },
    mcp: { FORBIDDEN: () => api.call('POST', '/mcp', { body: {}, headers: { Origin: 'https://page.example' } }) },
    'create-service': {
      CONFLICT: async () => {
        const body = serviceNamed(`Name ${randomUUID()}`);
        await api.asAdmin('POST', '/api/services', body);
        return api.asAdmin('POST', '/api/services', { ...body, service_name: ` ${body.service_name.toUpperCase()} ` });
      },
    },
    'update-intent': {
      INVALID_PARAMETER: async () => callAs('update-intent', { intent_uid: await createIntent() }, { body: intentBody(newUid()) }),
    },
  },
];

/** The refusals that all admin endpoints share. */
function adminCases(endpoint: Endpoint): Partial<Record<ErrorCode, () => Promise<Answer>>> {
  const [path, { method, errors }] = [addressOf(endpoint), endpoint];
  const takesBody = errors.includes('UNSUPPORTED_MEDIA_TYPE');
  const body = takesBody ? { body: {} } : {};
  const headers = { 'Content-Type': 'text/plain' };
  return {
    UNAUTHORIZED: () => api.call(method, path, body),
    FORBIDDEN: () => api.call(method, path, { token: api.stack.user_token, ...body }),
    ...(takesBody && { UNSUPPORTED_MEDIA_TYPE: () => api.asAdmin(method, path, '{}', headers) }),
  };
}

const casesOf = (endpoint: Endpoint): Partial<Record<ErrorCode, () => Promise<Answer>>> =>
  Object.assign({}, endpoint.credential === 'admin' && adminCases(endpoint), ...errorCases.map((cases) => cases[endpoint.name]));

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

test('the next search, read and execution see what an admin has written, renamed and deleted', async () => {
  const uid = newUid();
  const servicePath = `/api/services/${await api.createIntent(intentBody(uid))}`;
  const shownOf = ({ service_name, intent_name }: Record<string, string>) => [service_name, intent_name];
  const found = async () => bodyOf(await api.call('GET', `/api/intents/search?uid=${uid}`)).intents.map(shownOf);
  const pat = await api.obtainPat();
  expect(bodyOf(await api.execute(pat, uid, { code: 'FR' }))).toEqual({ name: 'France' });

  const renamed = `Renamed ${randomUUID()}`;
  bodyOf(await api.asAdmin('PUT', servicePath, serviceNamed(renamed)));
  bodyOf(await api.asAdmin('PUT', `/api/intents/${uid}`, { ...intentBody(uid), intent_name: 'Look up country' }));
  expect(await found()).toEqual([[renamed, 'Look up country']]);
  expect(shownOf(bodyOf(await api.call('GET', `/api/intents/${uid}`)))).toEqual([renamed, 'Look up country']);

  bodyOf(await api.asAdmin('DELETE', servicePath), 204);
  expect(await found()).toEqual([]);
  for (const path of [`/api/intents/${uid}`, `${servicePath}/intents`]) expect((await api.call('GET', path)).status).toBe(404);
  expect(await api.execute(pat, uid, { code: 'FR' })).toEqual(
    refusal(404, 'NOT_FOUND', 'No intent has this intent_uid. Find one with GET /api/intents/search.'),
  );
});

test('an unknown uid is answered with the nearest ones, when it is read and when it is executed', async () => {
  const uid = await createIntent(undefined, 'e2e.example:weigh-elephants:v1');
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

test('the health check is answered without a function, in the form of every answer', async () => {
  const { status, headers, body } = await api.call('GET', '/health');
  expect({ status, body, type: headers.get('content-type') }).toEqual({ status: 200, body: { status: 'ok' }, type: 'application/json' });
});

test('HEAD is answered as GET, without the content', async () => {
  const at = (method: string, path: string) => fetch(`${api.stack.base_url}${path}`, { method });
  for (const [path, status] of [
    ['/health', 200],
    ['/api/policy', 200],
    ['/api/intents/search?page_size=1', 200],
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

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

test('a slash at the end makes no difference, except that pages redirect', async () => {
  for (const path of ['/docs', '/console']) {
    const { status, headers } = await fetch(`${api.stack.base_url}${path}/`, { redirect: 'manual' });
    expect([status, headers.get('location')]).toEqual([308, api.stack.base_url + path]);
  }
  expect((await api.call('GET', '/api/policy/')).status).toBe(200);
  expect((await api.call('POST', '/mcp/', { body: ping })).body).toMatchObject({ id: 1, result: {} });
});

test('a page at another address of the stack may use MCP', async () => {
  const Origin = api.stack.base_url.replace('127.0.0.1', 'localhost');
  expect((await api.call('POST', '/mcp', { body: ping, headers: { Origin } })).status).toBe(200);
});

test('an endpoint that needs no token ignores one', async () => {
  expect((await api.call('GET', '/api/policy', { token: 'rubbish' })).status).toBe(200);
});
