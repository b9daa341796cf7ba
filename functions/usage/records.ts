import { definePartitions, type Key, partitions, toSlot, toSortKey } from '../core/table/keys.ts';

declare module '../core/table/keys.ts' {
  interface FeatureRecords {
    stats: true;
    health: true;
  }
}

const key = definePartitions({ stats: { table: 'activity', prefix: 'STATS#' }, health: { table: 'activity', prefix: 'HEALTH#' } });

/** A record beside the executions, whose partitions have the same prefix. */
const beside = (name: string, sk: string): Key => ({ pk: partitions.executed.prefix + name, sk });

export const usageKeys = {
  /** the summary of the last 24 hours */
  health: (): Key => key('health', '', 'HEALTH'),
  /** the run that adds up executions */
  countingRun: (): Key => beside('RUN', 'RUN'),
  /** marks the totals of a minute as out of date */
  changedMinute: (shard: number, minuteMs: number): Key => beside(`CHANGED#${shard}`, toSlot(minuteMs)),
  /** marks the totals of an hour or a day as out of date */
  changedSlot: (level: 'hour' | 'day', slotMs: number): Key => key('stats', 'CHANGED', `${level}#${toSlot(slotMs)}`),
  /**
   * The totals of a service, an intent or an agent in one time slot; slots that belong to the same slot of the next level share a partition
   * @param slotMs - start of the minute, hour or day
   */
  stats: (level: 'minute' | 'hour' | 'day', dimension: string, slotMs: number, id: string): Key => {
    const from = toSlot(slotMs);
    const whole = from.slice(0, { minute: 13, hour: 10, day: 7 }[level]);
    return key('stats', `${level}#${dimension}#${whole}`, toSortKey(`${from}#${id}`));
  },
};
