import { runInBatches } from '../batches.ts';
import type { Condition } from '../table/expression.ts';
import { keys, newReceiptPartitions } from '../table/keys.ts';
import { getMany } from '../table/pages.ts';
import type { Item, Table } from '../table/table.ts';
import { type NewReceiptItem, spellEntry } from './entries.ts';
import type { EvidenceKey } from './evidence-keys.ts';
import type { ReceiptLog } from './log-store.ts';
import { signCheckpoint, type Verifier } from './note.ts';
import { extendLog } from './tiles.ts';

/** The head of the log. Each change is one conditional write, so that only one of several sequencers succeeds. */
export interface HeadItem extends Item {
  /** number of entries that the checkpoint covers */
  size: number;
  checkpoint: string;
  /** the newest entries, until they are published and removed from the waiting receipts */
  entries?: string[];
  /** size of the log before `entries`; equal to `size` until their tiles are written */
  from?: number;
}

export interface LoggedItem extends Item {
  index: number;
  expires_at: number;
}

/** Maximum number of entries in the head: an item has at most 400 KB, and an entry 70 bytes. */
const maxEntries = 4_000;

/** Maximum number of concurrent requests. */
const parallel = 50;

/** How long a proof can be requested by execution id, in seconds. The log itself is kept for ever. */
const provableSeconds = 400 * 86_400;

/** Time reserved for a batch, in milliseconds. */
const batchMs = 30_000;

const idOf = (entry: string): string => entry.slice(0, 26);

export type SequencedLog = Pick<ReceiptLog, 'store' | 'verifier' | 'publicKeys'> & { logKey: Pick<EvidenceKey, 'sign'> };

/**
 * Opens the sequencer, which appends waiting receipts to the log in three steps: add the next entries to the head; write their tiles and advance the
 * head; publish the checkpoint and delete the waiting receipts. Each step can be repeated after a crash, or by several sequencers concurrently.
 */
export function openSequencer(
  { store, verifier, logKey, publicKeys }: SequencedLog,
  table: Pick<Table, 'get' | 'getAll' | 'query' | 'put' | 'update' | 'delete'>,
) {
  /** Creates an empty log. */
  async function begin(log: Verifier): Promise<void> {
    const { root } = await extendLog(store.read, 0, []);
    const checkpoint = await signCheckpoint(log, 0, root, logKey.sign);
    if (!(await table.put({ ...keys.receiptLog(log.origin), size: 0, checkpoint }, { when: [['absent', 'pk']] }))) return;
    await publish(checkpoint);
  }

  const publish = async (checkpoint: string): Promise<void> => {
    for (const [name, content] of Object.entries(await publicKeys())) await store.write(name, content);
    await store.write('checkpoint', checkpoint);
  };

  /** Finds waiting receipts, and deletes those that are already in the log: a late retry may have stored one again. */
  async function findNew({ origin }: Verifier): Promise<string[]> {
    const shards = newReceiptPartitions();
    const limit = Math.floor(maxEntries / shards.length);
    const pages = await Promise.all(shards.map((pk) => table.query<NewReceiptItem>(pk, { limit })));
    const waiting = pages.flatMap(({ items }) => items.map(({ sk, digest }) => ({ executionId: String(sk), digest })));
    const logged = await getMany(
      table,
      waiting.map(({ executionId }) => keys.loggedReceipt(executionId, origin)),
    );
    const known = waiting.filter((_, at) => logged[at]);
    await runInBatches(known, parallel, ({ executionId }) => table.delete(keys.newReceipt(executionId)));
    return waiting
      .filter((_, at) => !logged[at])
      .map(spellEntry)
      .sort();
  }

  /** Writes the tiles, then advances the head. */
  async function integrate(log: Verifier, { size, entries = [] }: HeadItem): Promise<void> {
    const { objects, root } = await extendLog(store.read, size, entries);
    await runInBatches([...objects], parallel, ([path, content]) => store.write(path, content));
    const moved = size + entries.length;
    const checkpoint = await signCheckpoint(log, moved, root, logKey.sign);
    await table.update(keys.receiptLog(log.origin), { set: { size: moved, checkpoint }, when: isAt(size, size), isQuiet: true });
  }

  async function finish(log: Verifier, { size, from = 0, entries = [], checkpoint }: HeadItem): Promise<void> {
    await publish(checkpoint);
    const expires_at = Math.ceil(Date.now() / 1_000) + provableSeconds;
    const ids = entries.map((entry, at) => ({ id: idOf(entry), index: from + at }));
    await runInBatches(ids, parallel, async ({ id, index }) => {
      await table.put({ ...keys.loggedReceipt(id, log.origin), index, expires_at } satisfies LoggedItem);
      await table.delete(keys.newReceipt(id));
    });
    const head = keys.receiptLog(log.origin);
    if (await table.update(head, { remove: ['entries', 'from'], when: isAt(size, from), isQuiet: true })) return;
    // another sequencer is ahead, and this one may have overwritten its checkpoint
    const current = await table.get<HeadItem>(head);
    if (current && current.size > size) await publish(current.checkpoint);
  }

  /**
   * Runs until no receipt waits or the time is up.
   * @throws Error if a store fails; the next run continues
   */
  return async (remainingMs: () => number): Promise<void> => {
    const log = await verifier();
    const key = keys.receiptLog(log.origin);
    while (remainingMs() > batchMs) {
      const head = await table.get<HeadItem>(key);
      if (!head) await begin(log);
      else if (!head.entries) {
        const entries = await findNew(log);
        if (entries.length === 0) return;
        const when: Condition[] = [
          ['=', 'size', head.size],
          ['absent', 'entries'],
        ];
        await table.update(key, { set: { entries, from: head.size }, when, isQuiet: true });
      } else if (head.from === head.size) await integrate(log, head);
      else await finish(log, head);
    }
  };
}

const isAt = (size: number, from: number): Condition[] => [
  ['=', 'size', size],
  ['=', 'from', from],
];
