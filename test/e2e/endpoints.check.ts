import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import { type Endpoint, endpoints } from '../../lib/endpoints.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { startUpstream } from '../support/upstream.ts';
import { bodyOf, type Call, refusal, startApi } from './api.ts';

const logged: string[] = [];
const api = await startApi({ onLog: (line) => logged.push(line) });
const upstream = await startUpstream((_, response) =>
  response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"name":"France"}'),
);
afterAll(() => upstream.stop());

const intentBody = (intent_uid: string) => ({ ...intentOf(intent_uid), endpoint: `http://127.0.0.1:${upstream.port}` });

/** An id that nothing has, in each place of a path. */
const addressOf = ({ path }: Endpoint): string => path.replaceAll(/\{[^}]+\}/g, '01ARZ3NDEKTSV4RRFFQ69G5FAV');

const forAdmins = endpoints.filter(({ credential }) => credential === 'admin');

test.each(forAdmins)('$method $path is for admins alone, and takes nothing but JSON', async (endpoint) => {
  const { method, errors } = endpoint;
  const takesBody = errors.includes('UNSUPPORTED_MEDIA_TYPE');
  const send = (call: Call) => api.call(method, addressOf(endpoint), { ...(takesBody && { body: {} }), ...call });
  const unsigned = await send({});
  expect(unsigned).toMatchObject({ status: 401, body: { error: { code: 'UNAUTHORIZED' } } });
  expect(unsigned.headers.get('www-authenticate')).toMatch(/^Bearer /);
  expect(await send({ token: api.stack.user_token })).toMatchObject({ status: 403, body: { error: { code: 'FORBIDDEN' } } });
  if (!takesBody) return;
  const asText = await send({ token: api.stack.admin_token, body: '{}', headers: { 'Content-Type': 'text/plain' } });
  expect(asText).toMatchObject({ status: 415, body: { error: { code: 'UNSUPPORTED_MEDIA_TYPE' } } });
});

test.each(['merge-patch+json', 'json-patch+json', 'ld+json', 'vnd.api+json', 'xml', 'proto+json'])(
  'what a path can do does not depend on the type of a body that it does not take: application/%s',
  async (type) => {
    const headers = { 'Content-Type': `application/${type}` };
    const refused = await api.call('PATCH', '/api/services/x', { headers, body: '{}' });
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, expect.stringContaining('PUT')]);
    expect((await api.call('GET', '/health', { headers })).status).toBe(200);
    expect((await api.call('POST', '/nowhere', { headers, body: '{}' })).status).toBe(404);
  },
);

test('the next search, read and execution see what an admin has written, renamed and deleted', async () => {
  const uid = 'e2e.example:changing:v1';
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
  const uid = 'e2e.example:weigh-elephants:v1';
  await api.createIntent(intentBody(uid));
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

test.each([
  ['text/html,application/xhtml+xml,*/*;q=0.8', '/console'],
  ['application/json', '/openapi.json'],
  ['*/*', '/openapi.json'],
])('the root redirects who accepts %s to %s', async (accept, path) => {
  for (const method of ['GET', 'HEAD']) {
    const answer = await fetch(`${api.stack.base_url}/`, { method, headers: { accept }, redirect: 'manual' });
    expect([answer.status, answer.headers.get('location'), answer.headers.get('vary'), await answer.text()]).toEqual([
      302,
      path,
      'Accept',
      '',
    ]);
  }
});

test('a page at another address of the stack may use MCP', async () => {
  const Origin = api.stack.base_url.replace('127.0.0.1', 'localhost');
  expect((await api.call('POST', '/mcp', { body: ping, headers: { Origin } })).status).toBe(200);
});

test('an endpoint that needs no token ignores one', async () => {
  expect((await api.call('GET', '/api/policy', { token: 'rubbish' })).status).toBe(200);
});
