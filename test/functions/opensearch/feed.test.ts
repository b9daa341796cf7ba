import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { openIntents } from '../../../functions/core/registry/intents.ts';
import { openRegistry } from '../../../functions/core/registry/registry.ts';
import { openServices } from '../../../functions/core/registry/services.ts';
import { log } from '../../../functions/core/runtime/log.ts';
import { keys } from '../../../functions/core/table/keys.ts';
import { type FeedParts, openFeed } from '../../../functions/opensearch/feed.ts';
import { createAction } from '../../../functions/opensearch/feed-search-collection.ts';
import type { OpenSearchDocument } from '../../../functions/opensearch/index-documents.ts';
import { stateInMemory } from '../../support/opensearch/search-registry.ts';
import { intentOf, serviceNamed } from '../../support/records.ts';
import { type MemoryTable, openMemoryTable } from '../../world/memory-table.ts';

const always = () => true;
const uid = 'feed.example:one:v1';

/** A collection in memory. Its searches find what stood in it when it was refreshed last. */
function openCollection() {
  const documents = new Map<string, OpenSearchDocument | undefined>();
  let visible = new Map(documents);
  let hasIndex = false;
  const engine: FeedParts['engine'] = {
    hasIndex: async () => hasIndex,
    createIndex: async () => {
      hasIndex = true;
    },
    uidsOf: async (serviceId) => [...visible].flatMap(([uid, document]) => (document?.service_id === serviceId ? [uid] : [])),
    write: async (entries) => {
      for (const [uid, document] of entries) documents.set(uid, document);
    },
  };
  const held = () => [...documents].flatMap(([uid, document]) => (document ? [`${uid} of ${document.service_name}`] : []));
  return { engine, held, refresh: () => (visible = new Map(documents)) };
}

let table: MemoryTable;
let parts: FeedParts;
let collection: ReturnType<typeof openCollection>;
let nowMs: number;
let serviceId: string;

beforeEach(async () => {
  table = openMemoryTable();
  collection = openCollection();
  nowMs = Date.now() + 60_000;
  parts = { source: openRegistry(table), engine: collection.engine, state: stateInMemory(), now: () => nowMs };
  serviceId = (await openServices(table).create(serviceNamed('First'))).service_id;
});

const putIntent = () => openIntents(table).create(serviceId, intentOf(uid));

test('the first run writes everything, later ones what has changed, each change once', async () => {
  const write = jest.spyOn(collection.engine, 'write');
  const written = () => write.mock.calls.splice(0).flatMap(([entries]) => entries.map(([id]) => id));
  const info = jest.spyOn(log, 'info').mockImplementation(() => {});
  const feed = createAction(parts);
  await putIntent();
  await feed();
  expect(written()).toEqual([uid]);
  await openServices(table).replace(serviceId, serviceNamed('Second'), always);
  await openIntents(table).remove(uid, always);
  await feed();
  expect(written()).toEqual([uid]);
  expect(collection.held()).toEqual([]);
  await feed();
  expect(written()).toEqual([]);
  expect(info.mock.calls.at(-1)).toEqual(['fed the search collection', { behind_seconds: 0 }]);
  info.mockRestore();
});

test('a run of the feed says how old the oldest change is that it had before it, and 0 if there was none', async () => {
  const feed = openFeed(parts);
  expect(await feed()).toMatchObject({ seen: { seq: 1 }, behindMs: 0 });
  await putIntent();
  await openServices(table).replace(serviceId, serviceNamed('Second'), always);
  const { at = '' } = (await parts.source.entriesAfter(1).next()).value?.[0] ?? {};
  nowMs = Date.parse(at) + 45_000;
  expect(await feed()).toMatchObject({ seen: { seq: 3 }, behindMs: 45_000 });
  expect(collection.held()).toEqual([`${uid} of Second`]);
  nowMs += 3_600_000;
  expect(await feed()).toMatchObject({ seen: { seq: 3 }, behindMs: 0 });
});

test('a run of the feed says how old a fill is that is not complete', async () => {
  await putIntent();
  const slow: FeedParts['source']['readAll'] = async function* (cursor) {
    for await (const part of parts.source.readAll(cursor)) {
      nowMs += 300_000;
      yield part;
    }
  };
  expect(await openFeed({ ...parts, source: { ...parts.source, readAll: slow } })()).toMatchObject({
    fill: { intents: 1 },
    behindMs: 300_000,
  });
});

describe('the intents of a deleted service go', () => {
  const services = () => openServices(table);
  test.each<[string, () => Promise<unknown>]>([
    ['with it', () => services().remove(serviceId, always)],
    ['though they were left behind', () => services().remove(serviceId, always, 0)],
  ])('the intents of a deleted service go %s, even if searches find them only later', async (_, remove) => {
    const feed = openFeed(parts);
    await feed();
    await putIntent();
    await feed();
    await remove();
    await feed();
    collection.refresh();
    nowMs += 110_000;
    expect(await feed()).toMatchObject({ deleted: { [serviceId]: expect.any(Number) } });
    expect(collection.held()).toEqual([]);
    nowMs += 10_000;
    expect(await feed()).toMatchObject({ deleted: {} });
  });
});

test('a run of the feed fails if entries expired before they were fed', async () => {
  const feed = openFeed(parts);
  await feed();
  await putIntent();
  await table.delete(keys.log(2));
  const refusal =
    'the log does not continue from the last entry fed: its entries have expired. Fill a new collection, see docs/operations.md#feedage';
  await expect(feed()).rejects.toThrow(refusal);
});
