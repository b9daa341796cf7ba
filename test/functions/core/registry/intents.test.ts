import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { openChangeLog } from '../../../../functions/core/registry/change-log.ts';
import { openIntents } from '../../../../functions/core/registry/intents.ts';
import { openServices } from '../../../../functions/core/registry/services.ts';
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

const anyRevision = () => true;
const uid = (version = 1, name = 'intent') => `test.example:${name}-${slug}:v${version}`;

test('the registry finds a created intent whole, with its service', async () => {
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

test.each(['', 'a:b:c', `${'a'.repeat(300)}:b:v1`])('the registry finds nothing for %p', async (text) => {
  await expect(intents.find(text)).resolves.toBeUndefined();
  await expect(intents.remove(text, anyRevision)).resolves.toBe(false);
});

test('several changes together are one log entry and one transaction, and are counted', async () => {
  for (const name of ['old', 'gone']) await intents.create(serviceId, intentOf(uid(1, name), name === 'gone' ? { draft: true } : {}));
  database.operations.length = 0;
  const done = await intents.apply(serviceId, [
    { action: 'create', intent: intentOf(uid(1, 'new')) },
    { action: 'update', intent: intentOf(uid(1, 'old'), { draft: true }) },
    { action: 'delete', uid: uid(1, 'gone') },
  ]);
  expect(database.operations).toEqual(['BatchGetItem', 'TransactWriteItems']);
  expect(done?.intents.map((intent) => intent?.rev)).toEqual([done?.seq, done?.seq, undefined]);
  const digest = expect.stringMatching(/^sha-256=/);
  expect((await openChangeLog(database.table).find(done?.seq ?? 0))?.changes).toEqual([
    { kind: 'intent', action: 'create', id: uid(1, 'new'), digest_after: digest },
    { kind: 'intent', action: 'update', id: uid(1, 'old'), digest_before: digest, digest_after: digest },
    { kind: 'intent', action: 'delete', id: uid(1, 'gone'), digest_before: digest },
  ]);
  await expect(services.find(serviceId)).resolves.toMatchObject({ intents: 1, drafts: 1 });
});

test('the registry lists versions of the same namespace and slug, in numerical order', async () => {
  for (const version of [10, 2, 1]) await intents.create(serviceId, intentOf(uid(version)));
  await intents.create(serviceId, intentOf(uid(1, 'another')));
  await intents.remove(uid(2), anyRevision);
  const versions = await intents.versions(uid(99));
  expect(versions.map(({ intent_uid }) => intent_uid)).toEqual([uid(1), uid(10)]);
});
