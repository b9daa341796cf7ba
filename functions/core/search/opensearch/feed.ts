import QuickLRU from 'quick-lru';
import { changeLifeSeconds } from '../../registry/changes.ts';
import type { Change, IntentRecord, RegistryRecord, ServiceRecord } from '../../registry/records.ts';
import type { RegistryPart } from '../../registry/registry.ts';
import { ulidTimeMs } from '../../ulid.ts';
import type { RegistrySource } from '../registry-source.ts';
import { type Entry, toOpenSearchDocument } from './documents.ts';
import type { OpenSearchEngine } from './engine.ts';
import type { FeedProgress, FeedRun, FeedState } from './feed-state.ts';

/** The registry as the feed reads it. All reads are strongly consistent. */
export interface FeedSource extends Pick<RegistrySource, 'changesSince' | 'readChanged'> {
  /** every live record, some at a time, from where an earlier reading came to */
  readAll(cursor?: string): AsyncIterable<RegistryPart>;
  /** the uids of a live service's intents */
  membersOf(serviceId: string): Promise<string[]>;
}

export interface FeedParts {
  source: FeedSource;
  engine: Pick<OpenSearchEngine, 'hasIndex' | 'createIndex' | 'uidsOf' | 'write'>;
  state: Pick<FeedState, 'begin'>;
  /** default: the clock */
  now?: () => number;
}

/** No page is begun later than this in a run, which leaves the last one a minute before the function's time is up. */
const workMs = 240_000;

/**
 * Each run looks at the changes of this long before the last one again: a change may be announced a minute before its record is written,
 * clocks may differ by ten seconds, and searches find what has been written to the collection after up to fifty, which matters for
 * the intents of a deleted service.
 */
const overlapMs = 120_000;

/** How many intents are read and written at a time. */
const batchSize = 500;

/** Numbers of writes of one run; versions of documents are made of the run and this. */
const maxWritesPerRun = 1_000_000;

/** How many services a fill keeps in memory; others are read again. */
const maxServices = 10_000;

const keyOf = ({ rev, kind, id }: Change): string => `${rev} ${kind} ${id}`;

const distinct = (texts: string[]): string[] => [...new Set(texts)];

const toChanges = (kind: Change['kind'], ids: string[]): Change[] => ids.map((id) => ({ kind, id, rev: '' }));

const isLive = <T extends RegistryRecord>(record: T | undefined): record is T => record !== undefined && record.deleted_at === undefined;

/** Writes entries in order: each with a greater version than whatever this or an earlier run has written. */
type Write = (entries: readonly Entry[]) => Promise<void>;

/**
 * Feeds a search collection from the registry: fills it, then follows the changes.
 *
 * A document is always written as the registry holds its intent at that moment, and the moments are ordered: runs have ascending numbers,
 * only one is at work, and the number of the run and of the write within it is the document's version. So whatever arrives late, even
 * from a run that was taken for dead, never replaces what was read later.
 * @returns a function that does as much as one run may, and returns what has been achieved; undefined if another run is at work
 */
export function openFeed({ source, engine, state, now = Date.now }: FeedParts): () => Promise<FeedProgress | undefined> {
  /** changes that need not be looked at again, as long as this instance lives */
  const done = new Set<string>();

  const toEntry = (uid: string, intent: IntentRecord | undefined, service: ServiceRecord | undefined): Entry => [
    uid,
    isLive(intent) && isLive(service) ? toOpenSearchDocument(intent, service) : undefined,
  ];

  async function readServices(ids: string[]): Promise<Map<string, ServiceRecord | undefined>> {
    const records = (await source.readChanged(toChanges('service', ids))) as (ServiceRecord | undefined)[];
    return new Map(ids.map((id, at) => [id, records[at]]));
  }

  /** Brings the documents of some intents to what the registry holds now, and returns the revisions of that. */
  async function feedIntents(uids: string[], write: Write): Promise<Map<string, string | undefined>> {
    const revisions = new Map<string, string | undefined>();
    for (let start = 0; start < uids.length; start += batchSize) {
      const some = uids.slice(start, start + batchSize);
      const intents = (await source.readChanged(toChanges('intent', some))) as (IntentRecord | undefined)[];
      const services = await readServices(distinct(intents.flatMap((intent) => (isLive(intent) ? [intent.service_id] : []))));
      await write(some.map((uid, at) => toEntry(uid, intents[at], services.get(intents[at]?.service_id ?? ''))));
      for (const [at, uid] of some.entries()) revisions.set(uid, intents[at]?.rev);
    }
    return revisions;
  }

  /** Writes what some changes speak of. A service that was renamed or deleted changes all its intents; those of a deleted one may have left the registry. */
  async function feedChanges(changes: Change[], write: Write): Promise<void> {
    const idsOf = (kind: Change['kind']) => distinct(changes.filter((change) => change.kind === kind).map(({ id }) => id));
    const services = await readServices(idsOf('service'));
    const members: string[] = [];
    for (const [id, service] of services) members.push(...(await (isLive(service) ? source.membersOf(id) : engine.uidsOf(id))));
    const revisions = await feedIntents(distinct([...idsOf('intent'), ...members]), write);
    for (const change of changes) {
      const service = services.get(change.id);
      const rev = change.kind === 'intent' ? revisions.get(change.id) : isLive(service) ? service.rev : undefined;
      if (rev === change.rev) done.add(keyOf(change));
    }
  }

  /** Writes what has been announced, oldest first, until the time of the run is up. */
  async function follow(run: FeedRun, from: FeedProgress, startMs: number, write: Write): Promise<FeedProgress> {
    const sinceMs = from.asOfMs - overlapMs;
    if (now() - sinceMs > changeLifeSeconds * 1000) {
      throw new Error(
        `the changes since ${new Date(sinceMs).toISOString()} are no longer all in the table: fill a new collection, see docs/operations.md#feedage`,
      );
    }
    let progress = from;
    for await (const page of source.changesSince(sinceMs)) {
      const changes = page.filter((change) => !done.has(keyOf(change)));
      for (let start = 0; start < changes.length; start += batchSize) {
        const some = changes.slice(start, start + batchSize);
        await feedChanges(some, write);
        const reachedMs = Math.min(startMs, ...some.slice(-1).map(({ rev }) => ulidTimeMs(rev)));
        if (reachedMs > progress.asOfMs) {
          progress = { asOfMs: reachedMs };
          await run.save(progress);
        }
        if (now() - startMs > workMs) return progress;
      }
    }
    for (const key of done) if (ulidTimeMs(key.slice(0, 26)) < startMs - overlapMs) done.delete(key);
    await run.save({ asOfMs: startMs });
    return { asOfMs: startMs };
  }

  /** Writes everything that the registry holds. What changes meanwhile is followed from the fill's beginning on. */
  async function fill(run: FeedRun, from: FeedProgress, startMs: number, write: Write): Promise<FeedProgress> {
    const services = new QuickLRU<string, ServiceRecord | undefined>({ maxSize: maxServices });
    const { asOfMs, fill: begun } = from;
    let intents: IntentRecord[] = [];
    let count = begun?.intents ?? 0;
    const writeIntents = async (fill: FeedProgress['fill']): Promise<FeedProgress> => {
      const missing = distinct(intents.map(({ service_id }) => service_id)).filter((id) => !services.has(id));
      for (const [id, service] of await readServices(missing)) services.set(id, service);
      await write(intents.map((intent) => toEntry(intent.intent_uid, intent, services.get(intent.service_id))));
      intents = [];
      const progress = { asOfMs, ...(fill && { fill }) };
      await run.save(progress);
      return progress;
    };
    for await (const { records, cursor } of source.readAll(begun?.cursor)) {
      for (const record of records) if (record.kind === 'service') services.set(record.service_id, record);
      intents.push(...records.filter((record) => record.kind === 'intent'));
      const isLate = now() - startMs > workMs;
      if (intents.length < batchSize && !isLate) continue;
      count += intents.length;
      const progress = await writeIntents({ cursor, intents: count });
      if (isLate) return progress;
    }
    return writeIntents(undefined);
  }

  return async () => {
    const run = await state.begin();
    if (!run) return undefined;
    const startMs = now();
    let writes = 0;
    const write: Write = async (entries) => {
      writes++;
      await engine.write(entries, run.number * maxWritesPerRun + writes);
    };
    try {
      const hasIndex = await engine.hasIndex();
      let progress: FeedProgress = run.progress && hasIndex ? run.progress : { asOfMs: startMs, fill: { intents: 0 } };
      if (!hasIndex) {
        await run.save(progress);
        await engine.createIndex();
      }
      if (progress.fill) progress = await fill(run, progress, startMs, write);
      return progress.fill ? progress : await follow(run, progress, startMs, write);
    } finally {
      await run.end();
    }
  };
}
