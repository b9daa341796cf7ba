/**
 * The registry as its users see it: processes whose clocks differ create, replace, delete and read services, names, intents and lists, with and
 * without If-Match, over a table of whose answers a part is lost, late, doubled or comes after the request was sent again. What every caller was
 * told has to be explained by one registry that does one thing after the other ({@link ./registry-model.ts}), each between call and answer; and the
 * log has to hold each change that somebody was told of once, in a whole chain, with digests of what stood before and after.
 * `node bin/run.js test/long/linearizability.ts [--histories 20000] [--seed 1] [--steps 7] [--late 0.03]`
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { openChangeLog } from '../../functions/core/registry/change-log.ts';
import { openIntents } from '../../functions/core/registry/intents.ts';
import { listIntents } from '../../functions/core/registry/lists.ts';
import { openServices } from '../../functions/core/registry/services.ts';
import { openChainCheck } from '../../registry/log-chain.ts';
import type { LogEntry } from '../../schemas/changes.ts';
import { connectTable } from '../support/connect-table.ts';
import { startFaultyProxy } from '../support/faulty-proxy.ts';
import { isLinearizable, type Operation } from '../support/linearizable.ts';
import { startTable } from '../support/table.ts';
import type { Notes, Setting, Task } from './linearizability-worker.ts';
import { readNumbers } from './options.ts';
import { digestIn, findUnlogged, type RegistryOp, registryModel } from './registry-model.ts';

const { histories, seed, steps, lanes, late } = readNumbers({ histories: 20_000, seed: 1, steps: 7, lanes: 6, late: 0.03 });

/** How far the clocks of the processes are ahead. */
const skewsMs = [0, 4_000, -4_000, 1_500];

/** How many histories a table takes: the names of all services stand in one partition. */
const perTable = 500;

const now = (): number => Number(process.hrtime.bigint() / 1_000n);
const totals = { operations: 0, unknown: 0, entries: 0, lies: 0, lost: 0, late: 0, requests: 0 };
const violations: string[] = [];

/** Without the reads and refusals that the contradiction does not need; they change nothing. */
function shorten(history: Operation<RegistryOp>[]): Operation<RegistryOp>[] {
  let short = history;
  for (const operation of history) {
    const { op } = operation;
    if (!/^(read|list)/.test(op.kind) && (op.told ?? 'ok') === 'ok') continue;
    const shorter = short.filter((one) => one !== operation);
    if (!isLinearizable(shorter, registryModel)) short = shorter;
  }
  return short;
}

const show = (history: Operation<RegistryOp>[]): string => {
  const startedMs = Math.min(...history.map(({ invoked }) => invoked));
  return history
    .toSorted((a, b) => a.invoked - b.invoked)
    .map(({ op, invoked, returned }) => `${invoked - startedMs}..${returned - startedMs} ${JSON.stringify(op)}`)
    .join('\n');
};

async function tryTable(from: number, to: number): Promise<void> {
  const store = await startTable();
  const faults = { dropAfter: 0.12, dropBefore: 0.02, delay: 0.03, duplicate: 0.03, late };
  const proxy = await startFaultyProxy(store.endpoint, faults, seed + from, 150);
  const children = skewsMs.map((skewMs, index): ChildProcess => {
    const child = fork(new URL('./linearizability-worker.ts', import.meta.url), { serialization: 'advanced' });
    child.setMaxListeners(0);
    child.send({ endpoint: proxy.endpoint, tableNames: store.tableNames, index, skewMs } satisfies Setting);
    return child;
  });
  const table = connectTable(store.endpoint, store.tableNames);
  const [services, intents, changeLog] = [openServices(table), openIntents(table), openChangeLog(table)];
  const entries: LogEntry[] = [];
  const all: Operation<RegistryOp>[] = [];

  const ask = (child: ChildProcess, task: Task): Promise<Notes> =>
    new Promise((resolve, reject) => {
      const listen = (notes: Notes) => {
        if (notes.group !== task.group) return;
        child.off('message', listen);
        resolve(notes);
      };
      child.on('message', listen).once('exit', () => reject(new Error('a process ended')));
      child.send(task);
    });

  /** What stands in the end, read when nobody writes any more. */
  async function readAll(history: Operation<RegistryOp>[]): Promise<Operation<RegistryOp>[]> {
    const reads: Operation<RegistryOp>[] = [];
    const note = (invoked: number, op: RegistryOp) => reads.push({ op, invoked, returned: now() });
    const ids = new Set(history.flatMap(({ op }) => ('id' in op && op.id && !op.id.startsWith('none') ? [op.id] : [])));
    const uids = new Set(history.flatMap(({ op }) => ('uid' in op ? [op.uid] : [])));
    for (const uid of uids) {
      const invoked = now();
      const found = (await intents.find(uid))?.intent;
      note(invoked, { kind: 'readIntent', uid, ...(found && { id: found.service_id, tag: found.description }) });
    }
    for (const id of ids) {
      const invoked = now();
      const found = await services.find(id);
      note(invoked, { kind: 'readService', id, ...(found && { name: found.service_name, tag: found.description }) });
      if (!found) continue;
      const { intents: listed, total } = await listIntents(table, found, 0, 10);
      for (const uid of uids) {
        const tag = listed.find(({ intent_uid }) => intent_uid === uid)?.description;
        note(invoked, { kind: 'listIntent', id, uid, ...(tag !== undefined && { tag }) });
      }
      if (total !== listed.length) violations.push(`the list of ${id} has ${listed.length} intents and counts ${total}`);
    }
    return reads;
  }

  /** Follows the log by number. */
  async function readLog(): Promise<void> {
    for await (const page of changeLog.after(entries.length)) for (const entry of page) entries[entry.seq - 1] = entry;
  }

  async function tryGroup(group: number): Promise<void> {
    const notes = await Promise.all(
      children.map((child, index) => ask(child, { group, count: steps, seed: seed * 1_000_003 + group * 10 + index })),
    );
    const history = notes.flatMap((one) => one.history);
    const unnamed = notes.flatMap((one) => one.unnamed);
    // the log has the ids of services also if their creators were not told
    if (unnamed.length > 0) await readLog();
    for (const { op, ...times } of unnamed) {
      const created = entries.flatMap(({ changes }) => changes).find(({ id, digest_after }) => digest_after === digestIn({ ...op, id }));
      if (created) history.push({ op: { ...op, id: created.id }, ...times });
    }
    history.push(...(await readAll(history)));
    totals.operations += history.length;
    totals.unknown += history.filter(({ returned }) => returned === Number.POSITIVE_INFINITY).length;
    all.push(...history);
    if (!isLinearizable(history, registryModel)) violations.push(show(shorten(history)));
    // the checker has to see a lie: a record that is read once more, as something that it no longer is
    const written = history.flatMap(({ op }) => (op.kind === 'createIntent' && op.told === 'ok' ? [op] : []));
    for (const { uid, id, tag } of written) {
      const last = history.findLast(({ op }) => op.kind === 'readIntent' && op.uid === uid)?.op as Extract<
        RegistryOp,
        { kind: 'readIntent' }
      >;
      if (last.tag === tag) continue;
      totals.lies++;
      const lie: Operation<RegistryOp> = { op: { kind: 'readIntent', uid, id, tag }, invoked: now(), returned: now() };
      if (isLinearizable([...history, lie], registryModel))
        violations.push(`a lie was believed: ${JSON.stringify(lie.op)}\n${show(history)}`);
      break;
    }
  }

  let next = from;
  const lane = async () => {
    while (next < to) await tryGroup(next++);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  await readLog();
  const check = openChainCheck(await changeLog.head());
  check.add(entries.toReversed());
  violations.push(...check.finish().misfits.map(({ seq, problem }) => `entry ${seq} of the log ${problem}`));
  violations.push(...findUnlogged(entries, all));
  totals.entries += entries.length;
  totals.lost += proxy.counts.dropAfter + proxy.counts.dropBefore;
  totals.late += proxy.counts.late;
  totals.requests += proxy.counts.requests;
  for (const child of children) {
    child.removeAllListeners();
    const ended = once(child, 'exit');
    child.kill();
    await ended;
  }
  await proxy.stop();
  await store.stop();
}

const startedMs = Date.now();
for (let from = 0; from < histories; from += perTable) {
  await tryTable(from, Math.min(histories, from + perTable));
  console.log(`${Math.min(histories, from + perTable)} of ${histories} histories, ${violations.length} violations`);
}
console.log(
  `${histories} histories of ${skewsMs.length} processes in ${Math.round((Date.now() - startedMs) / 1_000)} s: ${totals.operations} operations, ${totals.unknown} of them never answered; ${totals.entries} entries of the log`,
);
console.log(
  `${totals.requests} requests to the table: ${totals.lost} lost, or their answers; ${totals.late} came after they had been sent again`,
);
console.log(`${totals.lies} planted lies, all of which have to be found`);
for (const violation of violations.slice(0, 3)) console.log(`\nThis has no explanation:\n${violation}`);
console.log(`${violations.length} violations`);
if (totals.lies === 0) console.log('No lie was planted: try more histories.');
process.exitCode = violations.length > 0 || totals.lies === 0 ? 1 : 0;
