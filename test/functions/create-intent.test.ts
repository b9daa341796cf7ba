import { afterAll, describe, expect, test } from '@jest/globals';
import { createAction } from '../../functions/create-intent.ts';
import { createAction as createUpdate } from '../../functions/update-intent.ts';
import { savedIntent } from '../../schemas/intent.ts';
import { byAdmin, invoke, refusalOf } from '../support/invoke.ts';
import { intentOf } from '../support/records.ts';
import { egress, refusals, startRegistry, unknownServiceIds } from '../support/registry.ts';

const registry = await startRegistry();
afterAll(() => registry.stop());

const { service_id: serviceId } = await registry.createService();

const create = (body: unknown, service_id = serviceId) =>
  invoke(byAdmin(createAction({ ...registry, egress })), 'POST /api/services/{service_id}/intents', {
    path: { service_id },
    body,
  });

test('POST /api/services/{service_id}/intents creates an intent with all its members, and answers with its address', async () => {
  const uid = 'tides.example:next-high-tide:v1.2';
  const input = intentOf(uid, { tags: ['sea', 'harbours'], category: 'geography', version: 'v1.2', deprecated: true });
  const { status, headers, body } = await create(input);
  expect({ status, body }).toEqual({
    status: 201,
    body: { intent_id: uid, intent_uid: uid, intent_name: 'Get country', description: 'Tells a country from its code' },
  });
  savedIntent.parse(body);
  expect(headers).toMatchObject({ Location: `https://api.example/test/api/intents/${uid}`, 'Cache-Control': 'no-store' });
  const found = await registry.intents.find(uid);
  expect(found?.intent).toEqual({ ...input, kind: 'intent', service_id: serviceId, rev: expect.any(Number) });
  expect(found?.service.service_id).toBe(serviceId);
});

describe("inputs named like what the service's calls carry", () => {
  const origins = ['https://api.world.example'];
  const facts = {
    headers: ['X-Api-Key'],
    query: ['api_key'],
    origins,
    next: { headers: ['X-New'], query: ['token'] },
    version: '1',
    set_at: 1,
  };
  const isField = "must not have the name of a header field that the service's calls already carry";
  const isQuery = "must not have the name of a query parameter of the service's credential, which calls already carry";
  const inUrl = "must not contain a query parameter of the service's credential, which calls already carry";
  const field = (name: string) => [{ name, type: 'string', in: 'header' }] as const;
  const input = (name: string) => [{ name, type: 'string' }] as const;
  const at = (path: string, method = 'GET', content_type = 'application/json') => ({
    endpoint: { url: `https://api.world.example${path}`, method, content_type },
  });
  const name = '/input_parameters/0/name';

  test.each<[object, [string, string][]]>([
    [{ input_parameters: field('x_api_key') }, [[name, isField]]],
    [{ input_parameters: field('notion-version') }, [[name, isField]]],
    [{ input_parameters: input('token[]'), ...at('/') }, [[name, isQuery]]],
    [{ input_parameters: input('api.key'), ...at('/', 'POST', 'application/x-www-form-urlencoded') }, [[name, isQuery]]],
    [{ input_parameters: input('api_key'), ...at('/{?api_key}', 'POST') }, [[name, isQuery]]],
    [{ input_parameters: input('api_key'), ...at('/{api_key}') }, []],
    [{ input_parameters: input('key'), ...at('/?Api_Key={key}') }, [['/endpoint/url', inUrl]]],
    [{ input_parameters: input('api_key'), endpoint: 'https://elsewhere.example/{?api_key}' }, []],
  ])("inputs named like what the service's calls carry are refused, others are not: %j", async (more, issues) => {
    const { service_id } = await registry.createService({ headers: { 'Notion-Version': '2022-06-28' } });
    await registry.services.setCredential(service_id, facts, () => true);
    const uid = `tides.example:carried-${service_id.toLowerCase()}:v1`;
    const answer = await create({ ...intentOf(uid), ...more }, service_id);
    const expected = issues.length > 0 ? refusals.invalid(...issues) : undefined;
    if (expected) await registry.intents.create(service_id, intentOf(uid));
    const update = createUpdate({ ...registry, egress });
    const body = { ...intentOf(uid), ...more };
    const updated = await invoke(byAdmin(update), 'PUT /api/intents/{intent_uid}', { path: { intent_uid: uid }, body });
    for (const one of [answer, updated]) {
      if (expected) expect(refusalOf(one)).toEqual(expected);
      else expect(one.status).toBeLessThan(300);
    }
  });
});

test('POST /api/services/{service_id}/intents refuses a uid that an intent of any service has', async () => {
  const { uid } = await registry.createIntent();
  expect(refusalOf(await create(intentOf(uid)))).toEqual({
    status: 409,
    code: 'CONFLICT',
    message: 'An intent with this intent_uid exists. Update that one, or choose another slug or version.',
    details: { issues: [{ path: '/intent_uid', problem: 'must be unique' }] },
  });
});

test('POST /api/services/{service_id}/intents refuses a service that does not exist', async () => {
  expect(refusalOf(await create(intentOf('nobody.example:a:v1'), unknownServiceIds[0]))).toEqual(refusals.noSuchService);
});

const uidForm = 'must have the form <namespace>:<intent-slug>:v<version>, for example example.com:convert-currency:v1';

test.each<[issues: [path: string, problem: string][], change: object]>([
  [
    [
      ['/intent_uid', 'is required'],
      ['/input_parameters', 'is required'],
      ['/endpoint', 'is required'],
    ],
    { intent_uid: undefined, input_parameters: undefined, endpoint: undefined },
  ],
  [
    [['/intent_uid', 'must have a slug of lower-case letters, digits and hyphens, for example tides.example:get-xml-mare2:v1.2']],
    { intent_uid: 'tides.example: GET_XMLMaré2:v1.2' },
  ],
  [[['/intent_uid', uidForm]], { intent_uid: 'tides.example:???:v1' }],
  [[['/version', 'must equal the version at the end of intent_uid, or be left out']], { version: 'v2' }],
  [[['/tags/0', 'must not contain a comma, which separates tags in a search']], { tags: ['a,b'] }],
  [[['/tags', 'must have at most 50 tags']], { tags: Array.from({ length: 51 }, (_, index) => `tag ${index}`) }],
  [
    [['/output_parameters/1/name', 'must not repeat the name of another parameter']],
    {
      output_parameters: [
        { name: 'a', type: 'string' },
        { name: 'a', type: 'number' },
      ],
    },
  ],
  ...[
    'application/json; version',
    'application/json; ext="a',
    'text/csv; header=present',
    'application/x-www-form-urlencoded; x-charset=utf-16',
    'multipart/form-data; boundary=b',
    'multipart/mixed;charset=utf-8;boundary=b',
    'text/plain; x="multipart/form-data; boundary=b"',
  ].map((content_type): [[string, string][], object] => [
    [['/endpoint/content_type', 'must be a media type. JSON may have parameters, others only charset=utf-8']],
    { endpoint: { url: 'https://tides.example/', method: 'POST', content_type } },
  ]),
  ...['application/json; charset=utf-16', 'application/json;version=2 ; CHARSET="latin1"', 'application/json; charset="utf-8;a"'].map(
    (content_type): [[string, string][], object] => [
      [['/endpoint/content_type', 'must not have a charset other than utf-8, in which bodies are sent']],
      { endpoint: { url: 'https://tides.example/', method: 'POST', content_type } },
    ],
  ),
  // the type of a part, whose text an agent writes, has no parameters
  [
    [['/input_parameters/0/content_type', 'must be a media type without parameters, for example application/json']],
    { input_parameters: [{ name: 'a', type: 'string', content_type: 'multipart/mixed; boundary=b' }] },
  ],
  // checked by the relay only: contradictory definitions, and addresses that may not be called
  [
    [['/input_parameters/0/minimum', 'must not be greater than maximum']],
    { input_parameters: [{ name: 'a', type: 'number', minimum: 2, maximum: 1 }] },
  ],
  [[['/endpoint/url', 'must begin with https://']], { endpoint: 'http://tides.example/' }],
  [
    [['/endpoint/url', 'must name its host by a full public domain name, not by an address or a local name']],
    { endpoint: 'https://169.254.169.254/latest' },
  ],
  [[['/endpoint/url', 'must not lead back to this gate']], { endpoint: 'https://api.example/test/api/intents/execute' }],
])('POST /api/services/{service_id}/intents refuses a body for %j', async (issues, change) => {
  registry.operations.length = 0;
  expect(refusalOf(await create({ ...intentOf('refused.example:a:v1'), ...change }))).toEqual(refusals.invalid(...issues));
  expect(registry.operations).toEqual([]);
});
