import { afterAll, describe, expect, test } from '@jest/globals';
import { createAction } from '../../functions/update-service.ts';
import { savedService, toService } from '../../schemas/service.ts';
import { byAdmin, invoke, refusalOf } from '../support/invoke.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { type Headers, refusals, startRegistry, testIfMatch } from '../support/registry.ts';

const registry = await startRegistry();
afterAll(() => registry.stop());

const update = (service_id: string, body: unknown, headers: Headers = {}) =>
  invoke(byAdmin(createAction(registry)), 'PUT /api/services/{service_id}', { path: { service_id }, headers, body });

test('PUT /api/services/{service_id} replaces the whole record, and removes members that the body leaves out', async () => {
  const { service_id, rev } = await registry.createService({ policy_url: 'https://world.example/policy' });
  const input = { ...serviceNamed('Replaced'), description: 'Other facts', service_logo_url: 'https://world.example/logo.png' };
  const { status, headers, body } = await update(service_id, input);
  const saved = { service_id, ...serviceNamed('Replaced'), description: 'Other facts' };
  expect({ status, body }).toEqual({ status: 200, body: saved });
  savedService.parse(body);
  const record = await registry.services.find(service_id);
  expect(record).toMatchObject({ ...saved, service_logo_url: 'https://world.example/logo.png' });
  expect(record).not.toHaveProperty('policy_url');
  expect(record?.rev).not.toBe(rev);
  expect(headers).toMatchObject({ ETag: `"${record?.rev}"`, 'Cache-Control': 'no-store' });
});

describe('header fields that every call carries', () => {
  const carried = 'must not be a header field that calls already carry or that controls the connection or the call';
  test.each([
    [{ 'Notion-Version': '2022-06-28', 'X-Tenant': 'a b' }, []],
    [{ Cookie: 'a=b' }, [['/headers/Cookie', carried]]],
    [{ 'X-A': 'a\nb' }, [['/headers/X-A', 'must be visible ASCII characters and spaces between them']]],
    [
      { authorization: 'Bearer secret' },
      [['/headers/authorization', "must not be Authorization, which belongs to the service's credential"]],
    ],
    [{ 'X-A': 'a', x_a: 'b' }, [['/headers/x_a', 'must not repeat a name in another spelling']]],
    [Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`X-${at}`, 'x'])), [['/headers', 'must have at most 10 header fields']]],
  ] as [Record<string, string>, [string, string][]][])('header fields that every call carries are checked: %j', async (headers, issues) => {
    const { service_id, service_name } = await registry.createService();
    const answer = await update(service_id, { ...serviceNamed(service_name), headers });
    if (issues.length > 0) expect(refusalOf(answer)).toEqual(refusals.invalid(...issues));
    else expect(answer.status).toBe(200);
    expect((await registry.services.find(service_id))?.headers).toEqual(issues.length > 0 ? undefined : headers);
  });

  test('header fields that every call carries must not be those of the credential', async () => {
    const { service_id, service_name } = await registry.createService();
    const origins = ['https://world.example'];
    await registry.services.setCredential(service_id, { headers: ['X-Api-Key'], query: [], origins, version: '1', set_at: 1 }, () => true);
    const answer = await update(service_id, { ...serviceNamed(service_name), headers: { x_api_key: 'shown' } });
    expect(refusalOf(answer)).toEqual(refusals.invalid(['/headers/x_api_key', "must not be a header field of the service's credential"]));
  });
});

test('PUT /api/services/{service_id} answers 409 to a body with a credential that has been replaced since it was read', async () => {
  const { service_id, service_name, rev } = await registry.createService();
  const credential = { headers: ['X-Api-Key'], query: [], origins: ['https://world.example'], version: '1', set_at: 1 };
  await registry.services.setCredential(service_id, credential, () => true);
  const body = { ...serviceNamed(service_name), credential: null };
  const answer = await update(service_id, body, { 'If-Match': `"${rev}.admin"` });
  expect(refusalOf(answer)).toEqual(refusals.changed);
  expect(refusalOf(await update(service_id, body))).toEqual(
    refusals.invalid(['/credential', 'must be unchanged from a read, or be left out; PUT .../credential changes it']),
  );
});

testIfMatch(200, async () => {
  const { service_id, service_name, rev } = await registry.createService();
  return {
    etag: `"${rev}"`,
    call: (headers) => update(service_id, { ...serviceNamed(service_name), description: 'Changed' }, headers),
    read: () => registry.services.find(service_id),
  };
});

test('PUT /api/services/{service_id} refuses an invalid body, and leaves the record unchanged', async () => {
  const { service_id, rev } = await registry.createService();
  const refused = await update(service_id, { ...serviceNamed('Refused'), description: '', rev });
  expect(refusalOf(refused)).toEqual(refusals.invalid(['/description', 'must not be empty'], ['/rev', 'is not a known member; remove it']));
  expect(refusalOf(await update(service_id, {}, { 'Content-Type': 'text/plain' }))).toEqual(refusals.mediaType);
  expect((await registry.services.find(service_id))?.rev).toBe(rev);
});

test('PUT /api/services/{service_id} accepts what a read returned, if read-only members are unchanged', async () => {
  const created = await registry.createService({ namespace: 'put.example' });
  const shown = toService(created);
  const { status } = await update(created.service_id, shown);
  expect(status).toBe(200);
  expect(toService((await registry.services.find(created.service_id)) as typeof created)).toEqual(shown);
  const another = { ...shown, service_id: '01ARZ3NDEKTSV4RRFFQ69G5FAV' };
  expect(refusalOf(await update(created.service_id, another))).toEqual(
    refusals.invalid(['/service_id', 'must equal the service_id in the path, or be left out']),
  );
});

test('a namespace is set once: it is kept if left out, never changes, and must be that of every intent', async () => {
  const { service, uid } = await registry.createIntent();
  const { service_id, service_name } = service;
  const body = serviceNamed(service_name);
  expect(refusalOf(await update(service_id, { ...body, namespace: 'other.example' }))).toEqual(
    refusals.invalid(['/namespace', `must be the namespace of every intent of the service; ${uid} has another one`]),
  );
  expect((await update(service_id, { ...body, namespace: 'test.example' })).status).toBe(200);
  expect((await update(service_id, body)).status).toBe(200);
  expect((await update(service_id, { ...body, namespace: 'test.example' })).status).toBe(200);
  const record = await registry.services.find(service_id);
  expect(record?.namespace).toBe('test.example');
  for (const namespace of ['test', 'Test.example', 'test.example.com']) {
    expect(refusalOf(await update(service_id, { ...body, namespace }))).toEqual(
      refusals.invalid(['/namespace', 'must be the namespace that the service has, or be left out: it never changes']),
    );
  }
  expect(await registry.services.find(service_id)).toEqual(record);
  await expect(registry.intents.create(service_id, intentOf('test.example.com:x:v1'))).rejects.toMatchObject({
    code: 'FORBIDDEN',
    details: { reason: 'namespace', namespace: 'test.example' },
  });
});
