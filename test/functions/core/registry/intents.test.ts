import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openChangeLog } from '../../../../functions/core/registry/change-log.ts';
import { type IntentStep, openIntents } from '../../../../functions/core/registry/intents.ts';
import { listIntents } from '../../../../functions/core/registry/lists.ts';
import { openServices } from '../../../../functions/core/registry/services.ts';
import { keys } from '../../../../functions/core/table/keys.ts';
import { intentOf, serviceNamed } from '../../../support/records.ts';
import { startTable } from '../../../support/table.ts';

const database = await startTable();
const services = openServices(database.table);
const intents = openIntents(database.table);
let serviceId: string;
let slug = 0;

afterAll(() => database.stop());
beforeEach(async () => {
  slug++;
  serviceId = (await services.create(serviceNamed(`Service ${slug}`))).service_id;
});

/** A page of a service's intents. */
async function list(id: string, from: number | string, count: number) {
  const service = await services.find(id);
  if (!service) throw new Error('there is no such service');
  return listIntents(database.table, service, from, count);
}

const anyRevision = () => true;
const uid = (version = 1, name = 'intent') => `test.example:${name}-${slug}:v${version}`;
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
    rev: expect.any(Number),
    input_parameters: [{ name: 'x', type: 'any', default: { big: 1e300, small: 5e-324, zero: 0, nested: [[[{}]]], none: null } }],
  });
  expect(found?.service).toMatchObject({ service_id: serviceId, service_name: `Service ${slug}` });
});

test('an intent and its service take one round trip once the service is known', async () => {
  await intents.create(serviceId, intentOf(uid()));
  await intents.find(uid());
  database.operations.length = 0;
  await intents.findWith(uid(), [keys.agent('Somebody')]);
  expect(database.operations).toEqual(['BatchGetItem']);
});

test.each(['', 'a:b:c', `${'a'.repeat(300)}:b:v1`])('nothing is found for %p', async (text) => {
  await expect(intents.find(text)).resolves.toBeUndefined();
  await expect(intents.remove(text, anyRevision)).resolves.toBe(false);
});

describe('list', () => {
  test('is ordered by uid, exact, and pages by number or by the last uid', async () => {
    const uids = [3, 1, 2, 10].map((version) => uid(version));
    for (const one of uids) await intents.create(serviceId, intentOf(one));
    const ordered = [...uids].sort();
    const page = async (from: number | string, count: number) =>
      (await list(serviceId, from, count)).intents.map(({ intent_uid }) => intent_uid);
    await expect(page(0, 10)).resolves.toEqual(ordered);
    await expect(page(2, 2)).resolves.toEqual(ordered.slice(2));
    await expect(page(ordered[0] ?? '', 2)).resolves.toEqual(ordered.slice(1, 3));
    await expect(list(serviceId, 100, 10)).resolves.toEqual({ intents: [], total: 4 });
  });
});

describe('several changes at once', () => {
  const steps: IntentStep[] = [
    { action: 'create', intent: intentOf('test.example:bulk-new:v1') },
    { action: 'update', intent: intentOf('test.example:bulk-old:v1', { draft: true }) },
    { action: 'delete', uid: 'test.example:bulk-gone:v1' },
  ];
  const prepare = async () => {
    for (const { name, draft } of [
      { name: 'old', draft: false },
      { name: 'gone', draft: true },
    ])
      await intents.create(serviceId, intentOf(`test.example:bulk-${name}:v1`, draft ? { draft } : {}));
  };
  const clear = async () => {
    for (const name of ['new', 'old', 'gone']) await intents.remove(`test.example:bulk-${name}:v1`, anyRevision);
  };

  test('are one entry of the log, one transaction, and counted', async () => {
    await prepare();
    database.operations.length = 0;
    const done = await intents.apply(serviceId, steps);
    expect(database.operations).toEqual(['BatchGetItem', 'TransactWriteItems']);
    expect(done?.intents.map((intent) => intent?.rev)).toEqual([done?.seq, done?.seq, undefined]);
    const entry = await openChangeLog(database.table).find(done?.seq ?? 0);
    expect(
      entry?.changes.map(({ action, id, digest_before, digest_after }) => [
        action,
        id,
        digest_before !== undefined,
        digest_after !== undefined,
      ]),
    ).toEqual([
      ['create', 'test.example:bulk-new:v1', false, true],
      ['update', 'test.example:bulk-old:v1', true, true],
      ['delete', 'test.example:bulk-gone:v1', true, false],
    ]);
    await expect(services.find(serviceId)).resolves.toMatchObject({ intents: 1, drafts: 1 });
    await expect(list(serviceId, 0, 10)).resolves.toMatchObject({ total: 1, intents: [{ intent_uid: 'test.example:bulk-new:v1' }] });
    await clear();
  });

  test.each<[string, IntentStep, object]>([
    ['a uid that is taken', { action: 'create', intent: intentOf('test.example:bulk-old:v1') }, { code: 'CONFLICT', message: uidTaken }],
    ['an intent that is not there', { action: 'delete', uid: 'test.example:bulk-nothing:v1' }, { code: 'NOT_FOUND' }],
    ['a writer that knew another state', { action: 'delete', uid: 'test.example:bulk-old:v1', isKnown: () => false }, { code: 'CONFLICT' }],
  ])('are not made at all with %s', async (_, step, expected) => {
    await prepare();
    const before = await openChangeLog(database.table).head();
    await expect(intents.apply(serviceId, [steps[0] as IntentStep, step])).rejects.toMatchObject(expected);
    await expect(openChangeLog(database.table).head()).resolves.toEqual(before);
    await expect(intents.find('test.example:bulk-new:v1')).resolves.toBeUndefined();
    await clear();
  });
});

test('versions are those of the same namespace and slug, by number', async () => {
  for (const version of [10, 2, 1]) await intents.create(serviceId, intentOf(uid(version)));
  await intents.create(serviceId, intentOf(uid(1, 'another')));
  await intents.remove(uid(2), anyRevision);
  const versions = await intents.versions(uid(99));
  expect(versions.map(({ intent_uid }) => intent_uid)).toEqual([uid(1), uid(10)]);
});
