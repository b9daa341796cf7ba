import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readApiDocument } from '../../functions/core/documents/files.ts';
import { openIntents } from '../../functions/core/store/intents.ts';
import { openServices } from '../../functions/core/store/services.ts';
import { createAction as createOwn } from '../../functions/get-own-description.ts';
import { createAction } from '../../functions/get-service-description.ts';
import { type IntentInput, toIntentDetails } from '../../schemas/intent.ts';
import { serviceDescription } from '../../schemas/service-description.ts';
import { type Answer, invoke, refusalOf } from '../support/invoke.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { startTable, type TestTable } from '../support/table.ts';

const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const signingKeys = { newest: async () => ({ kid: 'first', key: publicKey }) };
const pem = publicKey.export({ format: 'pem', type: 'spki' });

describe('the description of a service', () => {
  let started: TestTable;
  let services: ReturnType<typeof openServices>;
  let intents: ReturnType<typeof openIntents>;
  let serviceId: string;
  const registered: IntentInput[] = [
    intentOf('tides.example:high:v1', { deprecated: true }),
    intentOf('tides.example:high:v2', { tags: ['sea'] }),
    intentOf('tides.example:low:v1'),
  ];
  const shown = registered.map((intent) => ({ ...toIntentDetails(intent, 'Tides'), ...(intent.deprecated && { deprecated: true }) }));

  beforeAll(async () => {
    started = await startTable();
    services = openServices(started.table);
    intents = openIntents(started.table);
    serviceId = (await services.create(serviceNamed('Tides'))).service_id;
    for (const intent of registered) await intents.create(serviceId, intent);
  });
  afterAll(() => started.stop());

  const ask = (query: Record<string, string> = {}, service_id = serviceId, protocol = 'proto'): Promise<Answer> =>
    invoke(createAction({ services, intents, signingKeys, protocol }), {
      path: `/api/services/${service_id}/description`,
      pathParameters: { service_id },
      query,
    });

  test('is the service, its intents, and what it takes to execute them', async () => {
    const { status, headers, body } = await ask();
    expect(status).toBe(200);
    expect(headers).toMatchObject({ ETag: expect.any(String), 'Cache-Control': 'no-cache' });
    expect(headers).not.toHaveProperty('Link');
    expect(body).toEqual({
      'service-info': { name: 'Tides', description: 'Facts about the world', service_url: 'https://world.example' },
      intents: shown,
      'proto-public-key': pem,
      'proto-policy-file': 'https://api.example/test/api/policy',
      'proto-api-discovery': 'https://api.example/test/api/intents/search',
    });
    expect(serviceDescription('proto').safeParse(body).error).toBeUndefined();
    expect(createPublicKey(body['proto-public-key']).equals(publicKey)).toBe(true);
  });

  test('comes in pages, each of which leads to the next', async () => {
    const base = `https://api.example/test/api/services/${serviceId}/description`;
    const first = await ask({ page_size: '2' });
    expect(first.body.intents).toEqual(shown.slice(0, 2));
    expect(first.headers.Link).toBe(`<${base}?page_size=2&page=2&after=tides.example%3Ahigh%3Av2>; rel="next"`);
    const second = await ask({ page: '2', page_size: '2', after: 'tides.example:high:v2' });
    expect(second.body).toEqual({ ...first.body, intents: shown.slice(2) });
    expect(second.headers.Link).toBe(`<${base}?page=1&page_size=2>; rel="prev"`);
    expect((await ask({ page: '9' })).body.intents).toEqual([]);
  });

  test('shows the addresses that the service names, its own policy among them', async () => {
    const addresses = {
      service_logo_url: 'https://sea.example/logo.svg',
      service_terms_of_service_url: 'https://sea.example/terms',
      service_privacy_policy_url: 'https://sea.example/privacy',
    };
    const { service_id } = await services.create({ ...serviceNamed('Sea'), ...addresses, policy_url: 'https://sea.example/policy' });
    expect((await ask({}, service_id, 'uim')).body).toEqual({
      'service-info': { name: 'Sea', description: 'Facts about the world', service_url: 'https://world.example', ...addresses },
      intents: [],
      'uim-public-key': pem,
      'uim-policy-file': 'https://sea.example/policy',
      'uim-api-discovery': 'https://api.example/test/api/intents/search',
    });
  });

  test('exists only for registered services', async () => {
    expect(refusalOf(await ask({}, '01ARZ3NDEKTSV4RRFFQ69G5FAV'))).toEqual({
      status: 404,
      code: 'NOT_FOUND',
      message: 'No service has this service_id. Register it with POST /api/services, or check the id.',
      details: {},
    });
  });

  test('refuses impossible pages, with every issue at once', async () => {
    const issues = [
      { path: '/page', problem: 'must be a whole number from 1 to 1000000000' },
      { path: '/page_size', problem: 'must be a whole number from 1 to 100' },
    ];
    expect(refusalOf(await ask({ page: '0', page_size: '101' }))).toMatchObject({
      status: 400,
      code: 'INVALID_PARAMETER',
      details: { issues },
    });
  });
});

describe('the description of the gate', () => {
  const ask = (protocol = 'proto') => invoke(createOwn({ readDocument: readApiDocument, signingKeys, protocol }), { path: '/agents.json' });

  test('has the operations that agents use for its intents', async () => {
    const { status, headers, body } = await ask();
    expect(status).toBe(200);
    expect(headers).toMatchObject({ ETag: expect.any(String), 'Cache-Control': 'no-cache' });
    expect(serviceDescription('proto').safeParse(body).error).toBeUndefined();
    expect(body.intents.map(({ intent_uid, endpoint }: Record<string, string>) => [intent_uid, endpoint])).toEqual([
      [
        'api.example:search-intents:v1',
        'https://api.example/test/api/intents/search{?query,service_name,intent_name,uid,namespace,description,tags,view,after,explain,page,page_size}',
      ],
      ['api.example:get-intent:v1', 'https://api.example/test/api/intents/{intent_uid}{?view}'],
      ['api.example:get-policy:v1', 'https://api.example/test/api/policy{?view}'],
      ['api.example:issue-pat:v1', 'https://api.example/test/api/pat/issue'],
      ['api.example:execute-intent:v1', 'https://api.example/test/api/intents/execute'],
    ]);
    expect(body.intents[3]).toMatchObject({
      input_parameters: [
        { name: 'agent_id', type: 'string', required: true },
        { name: 'signed_policy', type: 'string', required: true },
        { name: 'agent_public_key', type: 'string', required: true },
      ],
      output_parameters: [
        { name: 'proto-pat', type: 'string', required: true },
        { name: 'expires_at', type: 'string', required: true },
      ],
    });
    expect(body.intents[4].input_parameters).toEqual([
      { name: 'intent_uid', type: 'string', required: true },
      { name: 'parameters', type: 'object', required: true },
      { name: 'fields', type: 'array', required: false, description: expect.any(String) },
    ]);
  });

  test('uses the name of the protocol', async () => {
    const { body } = await ask('uim');
    expect(body).toMatchObject({
      'service-info': { name: 'Intent Gate', service_url: 'https://api.example/test' },
      'uim-public-key': pem,
      'uim-policy-file': 'https://api.example/test/api/policy',
      'uim-api-discovery': 'https://api.example/test/api/intents/search',
    });
  });
});
