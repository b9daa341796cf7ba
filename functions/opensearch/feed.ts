import type { IntentRecord, RecordName, ServiceRecord } from '../core/registry/records.ts';
import { batchesOf } from '../core/runtime/batches.ts';
import { followLog, LogMismatch, type LogPage, type RegistrySource } from '../core/search/registry-source.ts';
import type { OpenSearchEngine } from './engine.ts';
import type { FeedProgress, FeedRun, FeedState } from './feed-state.ts';
import { type Entry, toOpenSearchDocument } from './index-documents.ts';

export interface FeedParts {
  source: RegistrySource;
  engine: Pick<OpenSearchEngine, 'hasIndex' | 'createIndex' | 'uidsOf' | 'write'>;
  state: Pick<FeedState, 'begin'>;
  /** milliseconds since the epoch; default: the clock */
  now?: () => number;
}

/** No page starts later than this in a run, in milliseconds, which leaves a minute for the last page. */
const workMs = 240_000;

/** How long a deleted service is searched for remaining intents, in milliseconds. Writes take up to 30 s and become visible after up to 50 s. */
const visibleMs = 120_000;

const batchSize = 500;

/** Document versions combine the run's number and the number of the write within it. */
const maxWritesPerRun = 1_000_000;

const distinct = (texts: string[]): string[] => [...new Set(texts)];

const named = (kind: RecordName['kind'], ids: string[]): RecordName[] => ids.map((id) => ({ kind, id }));

export interface FeedResult extends FeedProgress {
  /** age of the fill or, once it is complete, of the oldest change that the run found, in milliseconds; 0 if it found none */
  behindMs: number;
}

/** Writes entries with a newer version than all earlier writes. */
type Write = (entries: readonly Entry[]) => Promise<void>;

/**
 * Opens a feed that fills a search collection from the registry, then follows the log. Document versions ascend with runs and writes, so a late
 * write, even of a run that counts as dead, never overwrites newer data.
 * @returns a function that does one run; it returns undefined if another run is active
 */
export function openFeed({ source, engine, state, now = Date.now }: FeedParts): () => Promise<FeedResult | undefined> {
  /** Writes intents, and removes those that are undefined or whose service is gone. */
  async function writeIntents(intents: readonly [uid: string, intent: IntentRecord | undefined][], write: Write): Promise<void> {
    const ids = distinct(intents.flatMap(([, intent]) => intent?.service_id ?? []));
    const records = (await source.readRecords(named('service', ids))) as (ServiceRecord | undefined)[];
    const services = new Map(ids.map((id, at) => [id, records[at]]));
    await write(
      intents.map(([uid, intent]): Entry => {
        const service = intent && services.get(intent.service_id);
        return [uid, service && toOpenSearchDocument(intent, service)];
      }),
    );
  }

  async function feedIntents(uids: string[], write: Write): Promise<void> {
    for (const some of batchesOf(uids, batchSize)) {
      const intents = (await source.readRecords(named('intent', some))) as (IntentRecord | undefined)[];
      await writeIntents(
        some.map((uid, at) => [uid, intents[at]]),
        write,
      );
    }
  }

  /** Intents of deleted services that are still visible to searches. */
  const leftOf = async (serviceIds: string[]): Promise<string[]> => (await Array.fromAsync(serviceIds, engine.uidsOf)).flat();

  /** Feeds changed intents, and all intents of changed services: renaming or deleting a service affects each of them. */
  async function feedChanges({ names, deleted }: LogPage, write: Write): Promise<void> {
    const uids = names.filter(({ kind }) => kind === 'intent').map(({ id }) => id);
    for (const { kind, id } of names) if (kind === 'service') uids.push(...(await source.uidsOf(id)));
    await feedIntents(distinct([...uids, ...(await leftOf(deleted.map(({ id }) => id)))]), write);
  }

  /** Feeds the changes in the log, oldest first, until the time is up. */
  async function follow(run: FeedRun, from: FeedProgress, startMs: number, write: Write): Promise<FeedResult> {
    const head = await source.head();
    const before = Object.entries(from.deleted ?? {});
    await feedIntents(await leftOf(before.map(([id]) => id)), write);
    let progress = { seen: from.seen, deleted: Object.fromEntries(before.filter(([, sinceMs]) => startMs - sinceMs < visibleMs)) };
    let oldest: string | undefined;
    for await (const page of followLog(source, from.seen, head)) {
      oldest ??= page.entries[0]?.at;
      await feedChanges(page, write);
      const deleted = { ...progress.deleted, ...Object.fromEntries(page.deleted.map(({ id }) => [id, now()])) };
      progress = { seen: page.position, deleted };
      await run.save(progress);
      if (now() - startMs > workMs) break;
    }
    await run.save(progress);
    return { ...progress, behindMs: oldest === undefined ? 0 : Math.max(0, now() - Date.parse(oldest)) };
  }

  /** Feeds the whole registry. Concurrent changes are in the log after the position where the fill began. */
  async function fill(run: FeedRun, from: FeedProgress, startMs: number, write: Write): Promise<FeedProgress> {
    const { seen, fill: begun } = from;
    let intents: IntentRecord[] = [];
    let count = begun?.intents ?? 0;
    const writeBatch = async (fill: FeedProgress['fill']): Promise<FeedProgress> => {
      await writeIntents(
        intents.map((intent) => [intent.intent_uid, intent]),
        write,
      );
      intents = [];
      const progress = { seen, ...(fill && { fill }) };
      await run.save(progress);
      return progress;
    };
    for await (const { records, cursor } of source.readAll(begun?.cursor)) {
      intents.push(...records.filter((record) => record.kind === 'intent'));
      const isLate = now() - startMs > workMs;
      if (intents.length < batchSize && !isLate) continue;
      count += intents.length;
      const progress = await writeBatch({ startMs, ...begun, cursor, intents: count });
      if (isLate) return progress;
    }
    return writeBatch(undefined);
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
      let progress = hasIndex ? run.progress : undefined;
      if (!progress) {
        const { seq, digest } = await source.head();
        progress = { seen: { seq, digest }, fill: { intents: 0, startMs } };
        await run.save(progress);
        if (!hasIndex) await engine.createIndex();
      }
      if (progress.fill) progress = await fill(run, progress, startMs, write);
      if (progress.fill) return { ...progress, behindMs: now() - progress.fill.startMs };
      return await follow(run, progress, startMs, write);
    } catch (error) {
      if (!(error instanceof LogMismatch)) throw error;
      throw new Error(
        'the log does not continue from the last entry fed: its entries have expired. Fill a new collection, see docs/operations.md#feedage',
        { cause: error },
      );
    } finally {
      await run.end();
    }
  };
}
