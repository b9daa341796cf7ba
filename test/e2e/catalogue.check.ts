import { beforeAll, describe, expect, test } from '@jest/globals';
import { connect, openMemoryKeyStore } from '../../client/connect.ts';
import { endpoints, hasFunction } from '../../lib/endpoints.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { toolCall } from '../support/tool-call.ts';
import { type Answer, bodyOf, startApi } from './api.ts';

const api = await startApi({ context: { catalogue: 'permitted' } });
const [open, hidden, unknown] = ['open.example:tides:v1', 'inner.example:payroll:v1', 'inner.example:payslip:v1'];
const unknownService = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
let hiddenService: string;
/** Bearer tokens of the callers: two agents, one of which has a rule of its own, and an admin. */
let tokens: Record<'nobody' | 'outsider' | 'insider' | 'admin', string | undefined>;

const keyStore = openMemoryKeyStore();
const connectInsider = () => connect(api.stack.base_url, { agentId: 'insider', keyStore, onPolicy: () => true });

beforeAll(async () => {
  const register = async (service_name: string, uid: string) => {
    const { service_id } = bodyOf(
      await api.asAdmin('POST', '/api/services', { ...serviceNamed(service_name), namespace: uid.split(':')[0] }),
      201,
    );
    bodyOf(await api.asAdmin('POST', `/api/services/${service_id}/intents`, intentOf(uid)), 201);
    return service_id;
  };
  await register('Harbour', open);
  hiddenService = await register('Wages', hidden);
  const { headers } = await api.call('GET', '/api/policy');
  const rule = (namespace: string, more = {}) => ({ target: `{base_url}/api/intents?namespace=${namespace}`, action: 'execute', ...more });
  const permission = [rule('open.example'), rule('inner.example', { assignee: 'insider' })];
  const policy = { '@context': 'http://www.w3.org/ns/odrl.jsonld', uid: '{base_url}/api/policy', type: 'Set', permission };
  bodyOf(await api.asAdmin('PUT', '/api/policy', policy, { 'If-Match': headers.get('etag') ?? '' }));
  tokens = {
    nobody: undefined,
    outsider: await api.obtainPat('outsider'),
    insider: (await (await connectInsider()).obtainPat()).pat,
    admin: api.stack.admin_token,
  };
});

const callers = ['nobody', 'outsider', 'insider', 'admin'] as const;
const outside = ['nobody', 'outsider'] as const;

/** Everything that can be read without being an admin, except what is a person's own, the same for everybody, or not JSON. */
const reads = endpoints
  .filter((row) => row.method === 'GET' && row.credential === 'none' && hasFunction(row) && row.mediaType === undefined)
  .map(({ path }) => path)
  .filter((path) => !/^\/(openapi.json|api\/(policy|connections)|oauth\/.*)$/.test(path) && !/\{(?!service_id|intent_uid)/.test(path));

/** An answer without what differs from request to request. */
const comparable = ({ status, headers, body }: Answer) => ({
  status,
  headers: [...headers].filter(([name]) => !/^(date|keep-alive|.*request-?id|execution-id)$/.test(name)),
  body: JSON.parse(JSON.stringify(body).replaceAll(headers.get('x-request-id') ?? '', 'id')),
});

const at = (path: string, service: string, uid: string) => path.replace('{service_id}', service).replace('{intent_uid}', uid);

test('the reads that are compared are those that show intents or services', () => {
  expect(reads).toEqual(
    expect.arrayContaining([
      '/api/intents/search',
      '/api/intents/{intent_uid}',
      '/api/services',
      '/api/services/{service_id}',
      '/api/services/{service_id}/intents',
      '/api/services/{service_id}/description',
      '/agents.json',
    ]),
  );
});

describe.each(reads)('GET %s', (path) => {
  test.each(callers)('what is hidden from others is as unknown to them, and known to those to whom it is permitted: %s', async (name) => {
    const ask = async (target: string) => api.call('GET', target, { token: tokens[name] });
    const answer = await ask(at(path, hiddenService, hidden));
    if (name === 'insider' || name === 'admin') {
      expect(answer.status).toBe(200);
      if (/search|agents.json|description|intents/.test(path)) expect(JSON.stringify(answer.body)).toContain('payroll');
      else if (path.startsWith('/api/services')) expect(JSON.stringify(answer.body)).toContain('Wages');
    } else {
      expect(JSON.stringify(answer.body)).not.toMatch(/payroll|wages/i);
      if (path.includes('{')) expect(comparable(answer)).toEqual(comparable(await ask(at(path, unknownService, unknown))));
      else expect(answer.status).toBe(200);
    }
    if (answer.status === 200 && /intents|services|agents.json/.test(path)) {
      expect(answer.headers.get('vary')).toMatch(/^Authorization/);
      expect(answer.headers.get('cache-control')).toBe('private, no-cache');
    }
  });
});

describe.each(outside)('%s', (name) => {
  const call = async (tool: string, args: object): Promise<unknown> => {
    const headers = { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-11-25' };
    const answer = await api.call('POST', '/mcp', { token: tokens[name], body: toolCall(tool, args), headers });
    return comparable(answer).body;
  };

  test('the tools of MCP find and read what is permitted only', async () => {
    expect(JSON.stringify(await call('search_intents', { query: 'payroll wages' }))).not.toMatch(/payroll:v1/);
    expect(await call('get_intent', { intent_uid: hidden })).toEqual(await call('get_intent', { intent_uid: unknown }));
    expect(JSON.stringify(await call('get_intent', { intent_uid: open }))).toContain('Harbour');
    const asInsider = await call('get_intent', { intent_uid: hidden, ...(name === 'nobody' && { pat: tokens.insider }) });
    if (name === 'nobody') expect(JSON.stringify(asInsider)).toContain('Wages');
  });

  test('similar names in a refusal are those that the caller sees', async () => {
    for (const [caller, uid, nearest] of [
      [name, 'inner.example:payrol:v1', undefined],
      ['insider', 'inner.example:payrol:v1', [hidden]],
      [name, 'open.example:tide:v1', [open]],
    ] as const) {
      const { status, body } = await api.call('GET', `/api/intents/${uid}`, { token: tokens[caller] });
      expect([status, body.error.details.nearest]).toEqual([404, nearest]);
    }
  });
});

test('the client finds and reads what is permitted to its agent once it has a PAT', async () => {
  const client = await connectInsider();
  const find = async () => [
    (await client.search('payroll')).intents.map((one) => one.intent_uid),
    await client.get(hidden).catch((error) => error.code),
  ];
  expect(await find()).toEqual([[], 'NOT_FOUND']);
  await client.obtainPat();
  expect(await find()).toEqual([[hidden], expect.objectContaining({ intent_uid: hidden })]);
});

test('executing a hidden intent is refused like an unknown one', async () => {
  const [known, missing] = await Promise.all([hidden, unknown].map((uid) => api.execute(tokens.outsider as string, uid, { code: 'FR' })));
  expect(comparable(known as Answer)).toEqual(comparable(missing as Answer));
  expect((missing as Answer).status).toBe(404);
  expect((await api.execute(tokens.insider as string, hidden, { code: 'FR' })).body.error.code).not.toBe('NOT_FOUND');
});
