import { afterAll, expect, test } from '@jest/globals';
import { createAction } from '../../functions/create-service.ts';
import { savedService } from '../../schemas/service.ts';
import { byAdmin, invoke, refusalOf } from '../support/invoke.ts';
import { serviceNamed } from '../support/records.ts';
import { refusals, startRegistry } from '../support/registry.ts';

const registry = await startRegistry();
afterAll(() => registry.stop());

const create = (body: unknown) => invoke(byAdmin(createAction(registry)), 'POST /api/services', { body });

test('POST /api/services registers a service with all its members, and answers with its address', async () => {
  const input = {
    ...serviceNamed('Tides'),
    policy_url: 'https://tides.example/policy',
    service_logo_url: 'https://tides.example/logo.png',
    service_terms_of_service_url: 'https://tides.example/terms',
    service_privacy_policy_url: 'https://tides.example/privacy',
    limit: { rate: 100, period: 60 },
  };
  const { status, headers, body } = await create(input);
  expect({ status, body }).toEqual({ status: 201, body: { service_id: expect.any(String), ...serviceNamed('Tides') } });
  savedService.parse(body);
  const record = await registry.services.find(body.service_id);
  expect(record).toMatchObject({ ...input, service_id: body.service_id });
  expect(headers).toMatchObject({
    ETag: `"${record?.rev}"`,
    Location: `https://api.example/test/api/services/${body.service_id}`,
    'Cache-Control': 'no-store',
  });
});

test('POST /api/services trims names and addresses', async () => {
  const { service_url } = serviceNamed('Dusk');
  const { body } = await create({ ...serviceNamed(' Dusk\u00a0'), service_url: ` ${service_url} ` });
  expect(body).toMatchObject({ service_name: 'Dusk', service_url });
});

test('POST /api/services refuses a name that another service has, and says which', async () => {
  const { body } = await create(serviceNamed('Weather'));
  expect(refusalOf(await create(serviceNamed(' wEATHER ')))).toEqual({
    status: 409,
    code: 'CONFLICT',
    message: 'Another service has this name (letter case and surrounding white space do not count). Choose another service_name.',
    details: { issues: [{ path: '/service_name', problem: 'must be unique' }], service_id: body.service_id },
  });
});

const address = 'must be an absolute http or https URL without user information';

test('POST /api/services refuses an invalid limit', async () => {
  const refused = await create({ ...serviceNamed('Refused'), limit: { rate: 0, period: 40_000_000, burst: 5 } });
  expect(refusalOf(refused).details).toMatchObject({
    issues: expect.arrayContaining([
      { path: '/limit/period', problem: 'must be at most 31622400 seconds, a year' },
      { path: '/limit/burst', problem: 'is not a known member; remove it' },
      { path: '/limit/rate', problem: expect.any(String) },
    ]),
  });
});

test.each<[issues: [path: string, problem: string][], change: object]>([
  [
    [
      ['/service_name', 'is required'],
      ['/service_url', 'is required'],
      ['/description', 'is required'],
    ],
    { service_name: undefined, service_url: undefined, description: undefined },
  ],
  [[['/service_id', 'is not a known member; remove it']], { service_id: 'mine' }],
  [[['/service_name', 'must be a string']], { service_name: 1 }],
  [[['/service_name', 'must not contain the invisible or control character U+202E (character 2)']], { service_name: 'a\u202eb' }],
  [[['/description', 'must not be empty']], { description: '\n' }],
  [[['/policy_url', address]], { policy_url: 'https://me:secret@world.example' }],
  [[['/service_logo_url', address]], { service_logo_url: 'javascript:alert(1)' }],
])('POST /api/services refuses a body for %j', async (issues, change) => {
  registry.operations.length = 0;
  expect(refusalOf(await create({ ...serviceNamed('Refused'), ...change }))).toEqual(refusals.invalid(...issues));
  expect(registry.operations).toEqual([]);
});
