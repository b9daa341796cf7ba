import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Intents, openIntents } from '../../../../functions/core/registry/intents.ts';
import { openServices, type Services } from '../../../../functions/core/registry/services.ts';
import { keys } from '../../../../functions/core/table/keys.ts';
import { newUlid } from '../../../../functions/core/ulid.ts';
import { intentOf, serviceNamed } from '../../../support/records.ts';
import { startTable, type TestTable } from '../../../support/table.ts';

let database: TestTable;
let services: Services;
let intents: Intents;
let serviceId: string;
let slug = 0;

beforeAll(async () => {
  database = await startTable();
  services = openServices(database.table);
  intents = openIntents(database.table);
});
afterAll(() => database.stop());
beforeEach(async () => {
  slug++;
  serviceId = (await services.create(serviceNamed(`Service ${slug}`))).service_id;
});

const anyRevision = () => true;
const uid = (version = 1, name = 'intent') => `test.example:${name}-${slug}:v${version}`;
const conflict = (message: string) => expect.objectContaining({ code: 'CONFLICT', status: 409, message });
const uidTaken = 'An intent with this intent_uid exists. Update that one, or choose another slug or version.';

test('what was created is found whole, with its service', async () => {
  const input = intentOf(uid(), {
    input_parameters: [{ name: 'x', type: 'any', default: { big: 1e300, small: 5e-324, zero: -0, nested: [[[{}]]], none: null } }],
    deprecated: true,
    category: 'facts',
  });
  await intents.create(serviceId, input);
  const found = await intents.find(uid());
  expect(found?.intent).toEqual({
    ...input,
    kind: 'intent',
    service_id: serviceId,
    rev: expect.any(String),
    input_parameters: [{ name: 'x', type: 'any', default: { big: 1e300, small: 5e-324, zero: 0, nested: [[[{}]]], none: null } }],
  });
  expect(found?.service).toMatchObject({ service_id: serviceId, service_name: `Service ${slug}` });
});

test('an intent and its service take one round trip once the service is known', async () => {
  await intents.create(serviceId, intentOf(uid()));
  await intents.find(uid());
  database.operations.length = 0;
  await intents.findForAgent(uid(), 'Somebody', 'thumbprint');
  expect(database.operations).toEqual(['BatchGetItem']);
});

test.each(['', 'no-uid', 'a:b:c', 'A:B:v1', `${'a'.repeat(300)}:b:v1`])('nothing is found for %p', async (text) => {
  await expect(intents.find(text)).resolves.toBeUndefined();
  await expect(intents.remove(text, anyRevision)).resolves.toBe(false);
});

describe('create', () => {
  test('refuses a uid that exists, in this service or another', async () => {
    const other = await services.create(serviceNamed(`Other ${slug}`));
    await intents.create(serviceId, intentOf(uid()));
    await expect(intents.create(serviceId, intentOf(uid()))).rejects.toEqual(conflict(uidTaken));
    await expect(intents.create(other.service_id, intentOf(uid()))).rejects.toEqual(conflict(uidTaken));
    await expect(intents.list(other.service_id, 0, 10)).resolves.toEqual({ intents: [], total: 0 });
  });

  test('lets one of 50 at once through', async () => {
    const results = await Promise.allSettled(Array.from({ length: 50 }, () => intents.create(serviceId, intentOf(uid()))));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of results) if (result.status === 'rejected') expect(result.reason).toEqual(conflict(uidTaken));
    await expect(intents.list(serviceId, 0, 10)).resolves.toMatchObject({ total: 1, intents: [{ intent_uid: uid() }] });
  });

  test('knows no unknown or deleted service', async () => {
    await services.remove(serviceId, anyRevision);
    for (const id of [serviceId, newUlid(), 'x']) await expect(intents.create(id, intentOf(uid()))).resolves.toBeUndefined();
    await expect(intents.find(uid())).resolves.toBeUndefined();
  });

  test('leaves nothing behind in a service that is deleted meanwhile', async () => {
    const creates = Array.from({ length: 20 }, (_, index) => intents.create(serviceId, intentOf(uid(index + 1))));
    const removal = services.remove(serviceId, anyRevision);
    const created = await Promise.all(creates);
    await removal;
    for (const [index] of created.entries()) {
      await expect(intents.find(uid(index + 1))).resolves.toBeUndefined();
      await expect(database.table.get(keys.intent(uid(index + 1)))).resolves.toBeUndefined();
    }
  });

  test('takes over the uid of an intent whose service is dead', async () => {
    await intents.create(serviceId, intentOf(uid()));
    const dead = await database.table.get(keys.service(serviceId));
    await database.table.put({ ...keys.service(serviceId), ...dead, deleted_at: 1 });
    const heir = await services.create(serviceNamed(`Heir ${slug}`));
    await intents.create(heir.service_id, intentOf(uid()));
    await expect(intents.find(uid())).resolves.toMatchObject({ service: { service_id: heir.service_id } });
    await services.remove(serviceId, anyRevision);
    await expect(intents.find(uid())).resolves.toMatchObject({ service: { service_id: heir.service_id } });
  });
});

describe('remove', () => {
  test('frees the uid', async () => {
    await intents.create(serviceId, intentOf(uid()));
    await expect(intents.remove(uid(), anyRevision)).resolves.toBe(true);
    await expect(intents.find(uid())).resolves.toBeUndefined();
    await expect(intents.remove(uid(), anyRevision)).resolves.toBe(false);
    await expect(intents.replace(uid(), intentOf(uid()), anyRevision)).resolves.toBeUndefined();
    await expect(intents.create(serviceId, intentOf(uid()))).resolves.toMatchObject({ intent_uid: uid() });
    await expect(intents.list(serviceId, 0, 10)).resolves.toMatchObject({ total: 1 });
  });

  test('of many at once happens once', async () => {
    await intents.create(serviceId, intentOf(uid()));
    const results = await Promise.all(Array.from({ length: 10 }, () => intents.remove(uid(), anyRevision)));
    expect(results.filter(Boolean)).toHaveLength(1);
    await expect(intents.list(serviceId, 0, 10)).resolves.toEqual({ intents: [], total: 0 });
  });
});

test('a stale writer is refused, and the record stays', async () => {
  await intents.create(serviceId, intentOf(uid()));
  const message =
    'The record has changed since you read it. Read it again, apply your change to what it is now, and send that with its new ETag.';
  await expect(intents.replace(uid(), intentOf(uid(), { intent_name: 'Late' }), () => false)).rejects.toEqual(conflict(message));
  await expect(intents.remove(uid(), () => false)).rejects.toEqual(conflict(message));
  await expect(intents.find(uid())).resolves.toMatchObject({ intent: { intent_name: 'Get country' } });
});

describe('list', () => {
  test('is ordered by uid, exact, and pages by number or by the last uid', async () => {
    const uids = [3, 1, 2, 10].map((version) => uid(version));
    for (const one of uids) await intents.create(serviceId, intentOf(one));
    const ordered = [...uids].sort();
    const page = async (from: number | string, count: number) =>
      (await intents.list(serviceId, from, count)).intents.map(({ intent_uid }) => intent_uid);
    await expect(page(0, 10)).resolves.toEqual(ordered);
    await expect(page(2, 2)).resolves.toEqual(ordered.slice(2));
    await expect(page(ordered[0] ?? '', 2)).resolves.toEqual(ordered.slice(1, 3));
    await expect(intents.list(serviceId, 100, 10)).resolves.toEqual({ intents: [], total: 4 });
  });

  test('skips a pointer whose record never came or has gone', async () => {
    await intents.create(serviceId, intentOf(uid(1)));
    await database.table.put({ ...keys.member(serviceId, uid(2)), intent_uid: uid(2), rev: newUlid(), pending: true });
    await expect(intents.list(serviceId, 0, 10)).resolves.toMatchObject({ total: 1, intents: [{ intent_uid: uid(1) }] });
  });
});

test('versions are those of the same namespace and slug, by number', async () => {
  for (const version of [10, 2, 1]) await intents.create(serviceId, intentOf(uid(version)));
  await intents.create(serviceId, intentOf(uid(1, 'another')));
  await intents.remove(uid(2), anyRevision);
  const versions = await intents.versions(uid(99));
  expect(versions.map(({ intent_uid }) => intent_uid)).toEqual([uid(1), uid(10)]);
});
