import { setTimeout } from 'node:timers/promises';
import { unavailable } from '../../functions/core/runtime/api-error.ts';
import type { Table } from '../../functions/core/table/table.ts';
import { openTableClock } from '../../functions/core/table/table-clock.ts';
import { openMemoryTable } from '../world/memory-table.ts';
import type { Faults } from './faulty-proxy.ts';
import { seededRandom } from './random.ts';

/** A request to a {@link openFaultyTable}, which may come from another process. */
export interface TableRequest {
  operation: 'get' | 'getAll' | 'put' | 'update' | 'delete';
  input: unknown[];
}

export interface TableAnswer {
  output: unknown;
  /** the table's time, as the header `Date` has it: in whole seconds */
  date: string;
}

/** Sends a request. @returns nothing if the answer is lost */
type Send = (request: TableRequest) => Promise<TableAnswer | undefined>;

/**
 * The table in memory, with faults that are drawn from `seed`: for millions of operations, each of which takes the client, a proxy and a table
 * engine, with HTTP between them, ten to twenty times as long.
 * @param delayMs - how long a delayed request is held back
 */
export function openFaultyTable(faults: Pick<Faults, 'dropAfter' | 'delay' | 'duplicate'>, seed: number, delayMs = 200) {
  const table = openMemoryTable();
  const random = seededRandom(seed);
  const counts = { requests: 0, dropAfter: 0, delay: 0, duplicate: 0 };

  function draw() {
    let left = random();
    return (['dropAfter', 'delay', 'duplicate'] as const).find((kind) => {
      left -= faults[kind] ?? 0;
      return left < 0;
    });
  }

  const send: Send = async ({ operation, input }) => {
    counts.requests++;
    const fault = draw();
    if (fault) counts[fault]++;
    const execute = table[operation] as (...input: unknown[]) => Promise<unknown>;
    if (fault === 'delay') await setTimeout(delayMs);
    if (fault === 'duplicate') await execute(...input);
    const output = await execute(...input);
    return fault === 'dropAfter' ? undefined : { output, date: new Date().toUTCString() };
  };
  return { send, counts };
}

/** As often as the SDK's client sends a request whose answer is lost. */
const maxAttempts = 3;

/** A client of a {@link openFaultyTable}, for what counters and idempotency keys need. */
export function connectFaultyTable(send: Send): Table {
  const clock = openTableClock();
  const call =
    (operation: TableRequest['operation']) =>
    // biome-ignore lint/suspicious/noExplicitAny: as the operation that is called
    async (...input: unknown[]): Promise<any> => {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        if (attempt > 0) await setTimeout(Math.random() * 20);
        const sentMs = performance.now();
        const answer = await send({ operation, input });
        if (!answer) continue;
        clock.observe({ sentMs, receivedMs: performance.now(), headers: { date: answer.date } });
        return answer.output;
      }
      throw unavailable(
        'The database of the gate cannot be reached. Try again after Retry-After; if you were changing something, first check whether it was changed.',
      );
    };
  const unknown = async () => {
    throw new Error('not known here');
  };
  return {
    clock,
    get: call('get'),
    getAll: call('getAll'),
    put: call('put'),
    update: call('update'),
    delete: call('delete'),
    query: unknown,
    writeAll: unknown,
    transact: unknown,
  };
}
