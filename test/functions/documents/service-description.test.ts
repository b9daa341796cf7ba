import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openRegistry } from '../../../functions/core/registry/registry.ts';
import { openSqliteEngine } from '../../../functions/core/search/sqlite/engine.ts';
import { createAction as createOwn } from '../../../functions/documents/get-own-description.ts';
import { createAction } from '../../../functions/documents/get-service-description.ts';
import { ownDescription, serviceDescription } from '../../../schemas/documents/service-description.ts';
import { type IntentInput, toIntentDetails } from '../../../schemas/intent.ts';
import { type Answer, invoke, nextQuery, refusalOf } from '../../support/invoke.ts';
import { intentOf, serviceNamed } from '../../support/records.ts';
import { refusals, startRegistry } from '../../support/registry.ts';

type Registry = Awaited<ReturnType<typeof startRegistry>>;

const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const signingKeys = { current: async () => ({ kid: 'first', key: publicKey, arn: 'arn' }) };
const pem = publicKey.export({ format: 'pem', type: 'spki' });

describe('the description of a service', () => {
  let registry: Registry;
  let serviceId: string;
  const registered: IntentInput[] = [
    intentOf('tides.example:high:v1', { deprecated: true }),
    intentOf('tides.example:high:v2', { tags: ['sea'] }),
    intentOf('tides.example:low:v1'),
  ];
  const addresses = {
    service_logo_url: 'https://sea.example/logo.svg',
    service_terms_of_service_url: 'https://sea.example/terms',
    service_privacy_policy_url: 'https://sea.example/privacy',
  };
  const shown = registered.map((intent) => ({ ...toIntentDetails(intent, 'Tides'), ...(intent.deprecated && { deprecated: true }) }));

  beforeAll(async () => {
    registry = await startRegistry();
    serviceId = (await registry.services.create({ ...serviceNamed('Tides'), ...addresses, policy_url: 'https://sea.example/policy' }))
      .service_id;
    for (const intent of registered) await registry.intents.create(serviceId, intent);
  });
  afterAll(() => registry.stop());

  const ask = (query: Record<string, string> = {}, service_id = serviceId): Promise<Answer> =>
    invoke(createAction({ ...registry, signingKeys, protocol: 'proto' }), 'GET /api/services/{service_id}/description', {
      path: { service_id },
      query,
    });

  test('the description of a service contains the service, its intents, what executing them needs, and the policy', async () => {
    const { status, headers, body } = await ask();
    expect(status).toBe(200);
    expect(headers).toMatchObject({ ETag: expect.any(String), 'Cache-Control': 'no-cache' });
    expect(headers).not.toHaveProperty('Link');
    expect(body).toEqual({
      'service-info': { name: 'Tides', description: 'Facts about the world', service_url: 'https://world.example', ...addresses },
      intents: shown,
      'proto-public-key': pem,
      'proto-policy-file': 'https://api.example/test/api/policy',
      'proto-api-discovery': 'https://api.example/test/api/intents/search',
      'proto-api-execute': 'https://api.example/test/api/intents/execute',
    });
    expect(serviceDescription('proto').safeParse(body).error).toBeUndefined();
  });

  test('the description of a service comes in linked pages', async () => {
    const base = `https://api.example/test/api/services/${serviceId}/description`;
    const first = await ask({ page_size: '2' });
    expect(first.body.intents).toEqual(shown.slice(0, 2));
    expect(first.headers.Link).toBe(`<${base}?page_size=2&page=2&after=tides.example%3Ahigh%3Av2>; rel="next"`);
    const second = await ask({ page: '2', page_size: '2', after: 'tides.example:high:v2' });
    expect(second.body).toEqual({ ...first.body, intents: shown.slice(2) });
    expect(second.headers.Link).toBe(`<${base}?page=1&page_size=2>; rel="prev"`);
    expect((await ask({ page: '9' })).body.intents).toEqual([]);
    // an intent that has gone makes the pages fewer than those that have been read
    const further = await ask({ page: '9', page_size: '1', after: 'tides.example:high:v1' });
    expect(further.body.intents).toEqual(shown.slice(1, 2));
    expect(nextQuery(further)).toMatchObject({ after: 'tides.example:high:v2' });
  });

  test('the description of an unknown service is not found', async () => {
    expect(refusalOf(await ask({}, '01ARZ3NDEKTSV4RRFFQ69G5FAV'))).toEqual(refusals.noSuchService);
  });
});

describe('the description of the gate', () => {
  let registry: Registry;
  let engine: ReturnType<typeof openSqliteEngine>;
  const registered = ['b.example:two:v1', 'a.example:three:v1', 'a.example:one:v1'].map((uid) => intentOf(uid, { tags: ['sea'] }));
  const shown = (['a.example:one:v1', 'a.example:three:v1', 'b.example:two:v1'] as const).map((uid) =>
    toIntentDetails(intentOf(uid, { tags: ['sea'] }), uid.startsWith('a') ? 'A' : 'B'),
  );

  beforeAll(async () => {
    registry = await startRegistry();
    engine = openSqliteEngine(openRegistry(registry.table));
    const { services, intents } = registry;
    const create = async (name: string) => (await services.create(serviceNamed(name))).service_id;
    const [a, b, gone] = [await create('A'), await create('B'), await create('Gone')];
    for (const intent of registered) await intents.create(intent.intent_uid.startsWith('a') ? a : b, intent);
    await intents.create(a, intentOf('a.example:draft:v1', { draft: true }));
    await intents.create(a, intentOf('a.example:old:v1', { deprecated: true }));
    await intents.create(gone, intentOf('gone.example:one:v1'));
    await services.remove(gone, () => true);
  });
  afterAll(async () => {
    await engine.close();
    await registry.stop();
  });

  const ask = (query: Record<string, string> = {}, protocol = 'proto') =>
    invoke(createOwn({ engine, signingKeys, protocol, isSignInOffered: true }), 'GET /agents.json', { query });

  test('the description of the gate lists the intents that a search finds, and the endpoints of the gate', async () => {
    const { status, headers, body } = await ask({}, 'uim');
    expect(status).toBe(200);
    expect(headers).toMatchObject({ ETag: expect.any(String), 'Cache-Control': 'no-cache' });
    expect(headers).not.toHaveProperty('Link');
    expect(body).toEqual({
      'service-info': { name: 'Intent Gate', description: expect.any(String), service_url: 'https://api.example/test' },
      intents: shown,
      'uim-public-key': pem,
      'uim-policy-file': 'https://api.example/test/api/policy',
      'uim-api-discovery': 'https://api.example/test/api/intents/search',
      'uim-api-execute': 'https://api.example/test/api/intents/execute',
      'uim-pat-issue': 'https://api.example/test/api/pat/issue',
      'service-desc': 'https://api.example/test/openapi.json',
      mcp: 'https://api.example/test/mcp',
      'mcp-sign-in': 'https://api.example/test/mcp/sign-in',
    });
    expect(ownDescription('uim').safeParse(body).error).toBeUndefined();
  });

  test('the description of the gate comes in linked pages', async () => {
    const base = 'https://api.example/test/agents.json';
    const first = await ask({ page_size: '2' });
    expect(first.body.intents).toEqual(shown.slice(0, 2));
    expect(first.headers.Link).toBe(`<${base}?page_size=2&page=2&after=a.example%3Athree%3Av1>; rel="next"`);
    const second = await ask({ page: '2', page_size: '2', after: 'a.example:three:v1' });
    expect(second.body.intents).toEqual(shown.slice(2));
    expect(second.headers.Link).toBe(`<${base}?page=1&page_size=2>; rel="prev"`);
    const further = await ask({ page: '9', page_size: '1', after: 'a.example:one:v1' });
    expect(further.body.intents).toEqual(shown.slice(1, 2));
    expect(nextQuery(further)).toMatchObject({ after: 'a.example:three:v1' });
    expect(refusalOf(await ask({ page_size: '101' }))).toMatchObject({ status: 400, code: 'INVALID_PARAMETER' });
  });
});
