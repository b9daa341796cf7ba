import { type RecordedExecution, recordedDays } from '../../../schemas/executions.ts';
import { type Key, keys } from '../table/keys.ts';
import { readPartitions, writeMany } from '../table/pages.ts';
import type { Item, Table } from '../table/table.ts';

/** One execution, from the log line `executed` that `execution/execution.ts` writes. */
export interface Executed extends RecordedExecution {
  /** milliseconds since the epoch */
  at: number;
}

/** Partitions per hour: a single one would be too slow for a busy gate. */
export const shards = [0, 1, 2, 3, 4, 5, 6, 7] as const;

/** How long executions are kept, in milliseconds. */
const keptMs = recordedDays * 24 * 3_600_000;

/** The partition of an execution among those of its hour. */
export const shardOf = ({ execution_id }: Executed): number => (execution_id.codePointAt(execution_id.length - 1) ?? 0) % shards.length;

type Stored = Key & Item & Executed & { expires_at: number };

const hourMs = 3_600_000;
const hourOf = (timeMs: number): number => Math.floor(timeMs / hourMs) * hourMs;

/** Maximum number of partitions read for one page: those of 25 hours. */
const maxPartitions = 200;

const parallelHours = 6;
const parallelWrites = 25;
const minuteMs = 60_000;

/** Where the next page begins: in this partition, after the key `sk`, or at the start of the partition without one. */
interface Cursor {
  hourMs: number;
  shard: number;
  sk?: string | undefined;
}

const write = ({ hourMs, shard, sk }: Cursor): string =>
  `${keys.executed(hourMs, shard, '').pk.replace('USAGE#', '')}${sk === undefined ? '' : `#${sk}`}`;

function read(text: string): Cursor {
  const [hour = '', shard = '', ...sk] = text.split('#');
  return { hourMs: Date.parse(`${hour}Z`), shard: Number(shard), ...(sk.length > 0 && { sk: sk.join('#') }) };
}

const toRecorded = ({ pk, sk, at, expires_at, ...line }: Stored): RecordedExecution => ({
  ...line,
  started_at: line.started_at ?? new Date(at).toISOString(),
});

/** Executions and refusals, from the log lines that a feature receives. */
export function openHistory(table: Pick<Table, 'query' | 'writeAll'>) {
  return {
    /** Stores each execution under its id, so that a repetition changes nothing. */
    async keep(executed: readonly Executed[]): Promise<void> {
      const items = executed.map((one) => {
        const minute = Math.floor(one.at / minuteMs) * minuteMs;
        return { ...keys.executed(minute, shardOf(one), one.execution_id), ...one, expires_at: Math.ceil((minute + keptMs) / 1_000) };
      });
      await writeMany(table, [...new Map(items.map((put) => [put.sk, { put }])).values()], parallelWrites);
    },

    /**
     * A page of the executions that ended at or after `fromMs` and before `toMs`. It may be empty although others follow.
     * @returns `next`: the value of `after` for the next page, if there may be one
     */
    async page({ fromMs, toMs, after, count }: { fromMs: number; toMs: number; after?: string | undefined; count: number }) {
      const executions: RecordedExecution[] = [];
      let cursor: Cursor = after === undefined ? { hourMs: hourOf(fromMs), shard: 0 } : read(after);
      for (let visited = 0; cursor.hourMs < toMs; visited++) {
        if (executions.length >= count || visited === maxPartitions) return { executions, next: write(cursor) };
        const { pk } = keys.executed(cursor.hourMs, cursor.shard, '');
        const limit = count - executions.length;
        const range = cursor.sk === undefined ? undefined : (['>', cursor.sk] as const);
        const { items, lastKey } = await table.query<Stored>(pk, { range, limit });
        executions.push(...items.filter(({ at }) => at >= fromMs && at < toMs).map(toRecorded));
        const isLast = cursor.shard === shards.length - 1;
        if (lastKey) cursor = { ...cursor, sk: lastKey.sk };
        else cursor = isLast ? { hourMs: cursor.hourMs + hourMs, shard: 0 } : { hourMs: cursor.hourMs, shard: cursor.shard + 1 };
      }
      return { executions, next: undefined };
    },

    /** Reads hour by hour from `toMs` back to `fromMs`, or until there are more than `most`. @returns since when they are complete */
    async readBack(fromMs: number, toMs: number, most: number): Promise<{ executions: RecordedExecution[]; sinceMs: number }> {
      const executions: RecordedExecution[] = [];
      for (let end = hourOf(toMs) + hourMs; end > fromMs; end -= parallelHours * hourMs) {
        const hours = Array.from({ length: parallelHours }, (_, at) => end - (at + 1) * hourMs).filter((hour) => hour + hourMs > fromMs);
        const pks = hours.flatMap((hour) => shards.map((shard) => keys.executed(hour, shard, '').pk));
        const found = (await readPartitions<Stored>(table, pks)).filter(({ at }) => at >= fromMs && at < toMs);
        executions.push(...found.map(toRecorded));
        if (executions.length > most) return { executions, sinceMs: Math.max(fromMs, hours.at(-1) ?? fromMs) };
      }
      return { executions, sinceMs: fromMs };
    },
  };
}

export type History = ReturnType<typeof openHistory>;
