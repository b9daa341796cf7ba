import { afterAll, describe, expect, test } from '@jest/globals';
import { openIntents } from '../../../../functions/core/registry/intents.ts';
import { openServices } from '../../../../functions/core/registry/services.ts';
import { keys } from '../../../../functions/core/table/keys.ts';
import { foldName } from '../../../../schemas/text.ts';
import { intentOf, serviceNamed } from '../../../support/records.ts';
import { startTable } from '../../../support/table.ts';

const { table, stop } = await startTable();
const services = openServices(table);
const intents = openIntents(table);
afterAll(stop);

const anyRevision = () => true;
const conflict = (message: string) => expect.objectContaining({ code: 'CONFLICT', status: 409, message });
const nameTaken = 'Another service has this name (letter case and surrounding white space do not count). Choose another service_name.';

describe('a name', () => {
  test.each([
    ['case', 'Weather', 'wEATHER'],
    ['surrounding white space', 'Maps', '  Maps '],
    ['normal form', 'Café', 'Cafe\u0301'],
    ['zero-width joiners', 'Tides', 'Ti\u200ddes'],
    ['letters that grow in capitals', 'Port \u0390', 'Port \u0390'.toUpperCase()],
  ])('the name of a service is the same whatever its %s', async (_, first, second) => {
    expect(foldName(first)).toBe(foldName(second));
    await services.create(serviceNamed(first));
    await expect(services.create(serviceNamed(second))).rejects.toEqual(conflict(nameTaken));
  });

  test('the name of a service may change its case', async () => {
    const service = await services.create(serviceNamed('loud'));
    await services.replace(service.service_id, serviceNamed('LOUD'), anyRevision);
    await expect(services.find(service.service_id)).resolves.toMatchObject({ service_name: 'LOUD' });
    await expect(services.create(serviceNamed('loud'))).rejects.toEqual(conflict(nameTaken));
  });
});

describe('removing a service', () => {
  test('removing a service also removes every intent', async () => {
    const { service_id } = await services.create(serviceNamed('Big'));
    const uids = Array.from({ length: 60 }, (_, index) => `big.example:intent-${index}:v1`);
    for (const half of [uids.slice(0, 30), uids.slice(30)])
      await intents.apply(
        service_id,
        half.map((uid) => ({ action: 'create', intent: intentOf(uid) })),
      );
    await services.remove(service_id, anyRevision);
    for (const uid of uids) await expect(intents.find(uid)).resolves.toBeUndefined();
    await expect(table.get(keys.service(service_id))).resolves.toBeUndefined();
    await expect(table.query(keys.listEntry(service_id, '').pk)).resolves.toMatchObject({ items: [] });
  });

  test('removing a service without enough time still hides every intent, and the next removal removes them', async () => {
    const { service_id } = await services.create(serviceNamed('Huge'));
    await intents.create(service_id, intentOf('huge.example:intent:v1'));
    await expect(services.remove(service_id, anyRevision, Date.now())).resolves.toBe(true);
    await expect(table.get(keys.intent('huge.example:intent:v1'))).resolves.toBeDefined();
    await expect(intents.find('huge.example:intent:v1')).resolves.toBeUndefined();
    await expect(services.create(serviceNamed('Huge'))).resolves.toBeDefined();
    await expect(services.remove(service_id, anyRevision)).resolves.toBe(false);
    await expect(table.get(keys.intent('huge.example:intent:v1'))).resolves.toBeUndefined();
  });
});

describe('a namespace', () => {
  const inSmall = (name: string) => ({ ...serviceNamed(name), namespace: 'small.example' });
  const isFull = (what: string) =>
    conflict(`A namespace holds at most 2 ${what}. Delete some, or ask the operators to raise the setting maxPerNamespace.`);

  test('a namespace is limited, and has room again after deletions', async () => {
    const small = openServices(table, undefined, 2);
    const smallIntents = openIntents(table, undefined, 2);
    const ids: string[] = [];
    for (const at of [1, 2]) {
      const { service_id } = await small.create(inSmall(`Small ${at}`));
      await smallIntents.create(service_id, intentOf(`small.example:intent-${at}:v1`));
      ids.push(service_id);
    }
    await expect(small.create(inSmall('Small 3'))).rejects.toEqual(isFull('services'));
    await expect(smallIntents.create(ids[0] ?? '', intentOf('small.example:intent-3:v1'))).rejects.toEqual(isFull('intents'));
    for (const id of ids) await small.remove(id, anyRevision);
    await expect(table.get(keys.namespace('small.example'))).resolves.toMatchObject({ services: 0, intents: 0 });
    await expect(small.create(inSmall('Small again'))).resolves.toBeDefined();
  });

  test('a namespace counts the intents of a service that joins it', async () => {
    const { service_id } = await services.create(serviceNamed('Given'));
    await intents.create(service_id, intentOf('given.example:intent:v1'));
    await intents.create(service_id, intentOf('given.example:draft:v1', { draft: true }));
    await services.replace(service_id, { ...serviceNamed('Given'), namespace: 'given.example' }, anyRevision);
    await expect(table.get(keys.namespace('given.example'))).resolves.toMatchObject({ services: 1, intents: 2 });
  });
});
