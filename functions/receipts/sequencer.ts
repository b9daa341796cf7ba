import { hash } from 'node:crypto';
import { runInBatches } from '../core/runtime/batches.ts';
import { describeCause, log } from '../core/runtime/log.ts';
import { timeOfUlid } from '../core/runtime/ulid.ts';
import type { Condition } from '../core/table/expression.ts';
import type { Key } from '../core/table/keys.ts';
import { beginRun, type Run, RunOvertaken } from '../core/table/leases.ts';
import { getMany, writeMany } from '../core/table/pages.ts';
import type { Item, Table } from '../core/table/table.ts';
import { type NewReceiptItem, spellEntry } from './entries.ts';
import type { EvidenceKey } from './evidence-keys.ts';
import type { ReceiptLog } from './log-store.ts';
import { readCheckpoint, signCheckpoint } from './note.ts';
import { newReceiptPartitions, receiptKeys } from './records.ts';
import { extendLog, type ReadObject } from './tiles.ts';

/** The head of the log. Each change is one conditional write, which only the newest run can make. */
export interface HeadItem extends Item {
  /** number of entries that the checkpoint covers; absent until the log begins */
  size: number;
  checkpoint: string;
  /** digest of the published keys */
  keys?: string;
  /** the page that is being appended; its last step clears it */
  page?: string;
  /** size of the log before `page`: if `size` is larger, the tiles of the page are written */
  from?: number;
}

/** A page of new entries. It never changes, so that repeating a step repeats what it wrote. */
interface PageItem extends Item {
  /** one entry per line */
  entries: string;
  expires_at: number;
}

export interface LoggedItem extends Item {
  index: number;
  expires_at: number;
}

/** Maximum number of entries in a page: an item has at most 400 KB, and an entry 70 bytes. A multiple of the 256 entries of a full tile. */
const maxEntries = 22 * 256;

/** Maximum number of concurrent requests to each service. */
const parallel = 50;

/** How long a proof can be requested by execution id, in seconds. The log itself is kept for ever. */
const provableSeconds = 400 * 86_400;

/** Time reserved for a page, in milliseconds. */
const pageMs = 30_000;

/** How long a run may be silent before the next one takes over, in milliseconds: less than the minute between runs, and more than a step takes. */
export const leaseMs = 50_000;

const idOf = (entry: string): string => entry.slice(0, 26);

export type SequencedLog = Pick<ReceiptLog, 'store' | 'verifier' | 'publicKeys'> & { logKey: Pick<EvidenceKey, 'sign'> };

/**
 * Opens the sequencer, which appends waiting receipts to the log page by page, in three steps: store the next entries as a page and claim it in the
 * head; write their tiles and advance the head; publish the checkpoint and delete the waiting receipts. One run is at work at a time. Each step can
 * be repeated after a crash, even while the run that began it is still at it.
 */
export function openSequencer(
  { store, verifier, logKey, publicKeys }: SequencedLog,
  table: Pick<Table, 'get' | 'getAll' | 'query' | 'put' | 'update' | 'delete' | 'writeAll'>,
  now: () => number = Date.now,
) {
  const expiresAt = (): number => Math.ceil(now() / 1_000) + provableSeconds;

  /** The oldest waiting receipts of each partition. */
  const readWaiting = (limit: number) => Promise.all(newReceiptPartitions().map((pk) => table.query<NewReceiptItem & Key>(pk, { limit })));

  /** Age of the oldest receipt that is not in the log, in seconds; 0 if there is none. */
  async function oldestSeconds(): Promise<number> {
    const times = (await readWaiting(1)).flatMap(({ items }) => items.map(({ sk }) => timeOfUlid(sk)));
    return times.length === 0 ? 0 : Math.max(0, Math.round((now() - Math.min(...times)) / 1_000));
  }

  /** Publishes the checkpoint, and the keys if they have changed. @returns their digest */
  async function publish(checkpoint: string, published?: string): Promise<string> {
    const objects = await publicKeys();
    const digest = hash('sha256', JSON.stringify(objects), 'base64url');
    if (digest !== published) for (const [name, content] of Object.entries(objects)) await store.write(name, content);
    await store.write('checkpoint', checkpoint);
    return digest;
  }

  /** Appends until no receipt waits or the time is up. @returns whether none waits */
  async function append(
    run: Run & { item: Partial<HeadItem> },
    origin: string,
    remainingMs: () => number,
    count: (entries: number) => void,
  ) {
    let head = run.item as Partial<HeadItem>;
    let entries: string[] | undefined;
    let isLast = false;
    /** what the last page read and wrote, which contains the right edge of the log */
    let recent = new Map<string, Uint8Array>();
    const key = verifier();
    const checkpointOf = async (size: number, root: Uint8Array) => signCheckpoint(await key, size, root, logKey.sign);
    const save = async (
      set: Partial<HeadItem>,
      remove: readonly ('page' | 'from' | 'entries')[] = [],
      when?: readonly Condition[],
    ): Promise<void> => {
      await run.save(set, remove, when);
      head = { ...head, ...set, ...Object.fromEntries(remove.map((name) => [name, undefined])) };
    };
    const pageKey = (page: string): Key => receiptKeys.receiptPage(origin, page);

    async function begin(): Promise<void> {
      const checkpoint = await checkpointOf(0, (await extendLog(store.read, 0, [])).root);
      await save({ size: 0, checkpoint, keys: await publish(checkpoint) });
    }

    /**
     * Makes head and published checkpoint agree, of which the newer counts: no checkpoint may ever contradict a published one. The head is older or
     * missing in a table that was restored or not adopted with its bucket; a receipt whose position the table has lost is appended a second time. The
     * published checkpoint is older if a late write of an earlier run replaced it.
     */
    async function agree(): Promise<void> {
      const published = (await store.read('checkpoint'))?.toString();
      if (published === undefined) return;
      let size = -1;
      try {
        size = readCheckpoint(await key, published);
      } catch (error) {
        if (head.size === undefined) throw error;
        log.warn('the published checkpoint is not of this log, and is replaced', { cause: describeCause(error) });
      }
      if (size < (head.size ?? 0)) await publish(head.checkpoint ?? '', head.keys);
      if (size <= (head.size ?? 0)) return;
      log.warn('the log continues from its published checkpoint, because the head in the table is older', { size, head: head.size ?? 0 });
      await save({ size, checkpoint: published }, ['page', 'from']);
    }

    /** Turns entries that an earlier release left in the head into a page. */
    async function adoptEntries(): Promise<void> {
      const left = head.entries as string[] | undefined;
      if (!left || head.size === undefined) return;
      const page = `${run.item.run_number}#${head.size}`;
      await table.put({ ...pageKey(page), entries: left.join('\n'), expires_at: expiresAt() } satisfies PageItem & Key);
      await save({ page }, ['entries'], [['absent', 'page']]);
    }

    /** Claims the next page. Deletes waiting receipts that are already in the log: a late retry may have stored one again. */
    async function claim(size: number): Promise<void> {
      const pages = await readWaiting(maxEntries / newReceiptPartitions().length);
      isLast = pages.every(({ lastKey }) => lastKey === undefined);
      const waiting = pages.flatMap(({ items }) => items);
      const logged = await getMany(
        table,
        waiting.map(({ sk }) => receiptKeys.loggedReceipt(sk, origin)),
        parallel,
      );
      const known = waiting.filter((_, at) => logged[at]);
      await writeMany(
        table,
        known.map(({ pk, sk }) => ({ delete: { pk, sk } })),
        parallel,
      );
      const fresh = waiting.filter((_, at) => !logged[at]).map(({ sk, digest }) => spellEntry({ executionId: sk, digest }));
      if (fresh.length === 0) return;
      // a full page ends with a full tile, so that the next one has none to complete
      entries = fresh.sort().slice(0, maxEntries - (size % 256));
      if (entries.length < fresh.length) isLast = false;
      const page = `${run.item.run_number}#${size}`;
      await table.put({ ...pageKey(page), entries: entries.join('\n'), expires_at: expiresAt() } satisfies PageItem & Key);
      await save(
        { page, from: size },
        [],
        [
          ['=', 'size', size],
          ['absent', 'page'],
        ],
      );
    }

    /** Writes the tiles, then advances the head. */
    async function integrate(size: number, added: readonly string[]): Promise<void> {
      const used = new Map<string, Uint8Array>();
      const read: ReadObject = async (path) => {
        const object = recent.get(path) ?? (await store.read(path));
        if (object) used.set(path, object);
        return object;
      };
      const { objects, root } = await extendLog(read, size, added);
      await runInBatches(objects, parallel, ([path, content]) => store.write(path, content));
      recent = new Map([...used, ...objects]);
      await save({ size: size + added.length, checkpoint: await checkpointOf(size + added.length, root) }, [], [['=', 'size', size]]);
    }

    async function finish({ from = 0, page = '', checkpoint, keys: published }: HeadItem, added: readonly string[]): Promise<void> {
      const expires_at = expiresAt();
      const ids = added.map(idOf);
      const logged = ids.map((id, at) => ({ ...receiptKeys.loggedReceipt(id, origin), index: from + at, expires_at }) satisfies LoggedItem);
      const puts = logged.map((put) => ({ put }));
      const [digest] = await Promise.all([publish(checkpoint, published), writeMany(table, puts, parallel)]);
      await run.renew();
      await writeMany(
        table,
        ids.map((id) => ({ delete: receiptKeys.newReceipt(id) })),
        parallel,
      );
      await save({ keys: digest }, ['page', 'from'], [['=', 'page', page]]);
      await table.delete(pageKey(page));
      entries = undefined;
      count(added.length);
    }

    await adoptEntries();
    await agree();
    while (remainingMs() > pageMs) {
      const { size, page, from } = head;
      if (size === undefined) await begin();
      else if (page === undefined) {
        if (isLast) return true;
        await claim(size);
      } else {
        entries ??= (await table.get<PageItem>(pageKey(page)))?.entries.split('\n');
        if (!entries) throw new Error('the page of entries that is being appended is missing');
        if (from === size) await integrate(size, entries);
        else await finish(head as HeadItem, entries);
      }
    }
    return false;
  }

  /**
   * Does one run, and logs how far it came. Does nothing else if another run is at work.
   * @throws Error if a store fails; the next run continues
   */
  return async (remainingMs: () => number): Promise<void> => {
    const { origin } = await verifier();
    const run = await beginRun<Partial<HeadItem>>(table, receiptKeys.receiptLog(origin), leaseMs, now);
    let receipts = 0;
    let isDone = false;
    try {
      if (run) {
        isDone = await append(run, origin, remainingMs, (entries) => {
          receipts += entries;
        });
      }
    } catch (error) {
      if (!(error instanceof RunOvertaken)) throw error;
      // this run may have overwritten the checkpoint of a later one
      const current = await table.get<Partial<HeadItem>>(receiptKeys.receiptLog(origin));
      if (current?.checkpoint) await store.write('checkpoint', current.checkpoint);
    } finally {
      await run?.end().catch(() => {});
      const oldest_seconds = isDone ? 0 : await oldestSeconds().catch(() => undefined);
      log.info('sequenced receipts', { receipts, oldest_seconds });
    }
  };
}
