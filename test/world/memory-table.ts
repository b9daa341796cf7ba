import type { Key } from '../../functions/core/table/keys.ts';
import type { Item, Query, Table, Write } from '../../functions/core/table/table.ts';
import { asked } from './conditions.ts';
import { allHold, applyUpdate, holds } from './evaluate.ts';

type Stored = Key & Item;

/** Both tables in memory. It executes the conditions and updates that it is given; `memory-table.test.ts` holds it to a table engine. */
export interface MemoryTable extends Table {
  /** every item, in the order of their keys */
  items(): Stored[];
}

const compareKeys = (left: string, right: string): number => Buffer.compare(Buffer.from(left), Buffer.from(right));

/** As `structuredClone`, which takes ten times as long for what items are made of. */
function clone<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(clone) as T;
  if (Object.getPrototypeOf(value) !== Object.prototype) return structuredClone(value);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, clone(member)])) as T;
}

const withoutUndefined = (item: Stored): Stored =>
  Object.fromEntries(Object.entries(clone(item)).filter(([, value]) => value !== undefined)) as Stored;

/** The item that a write of a transaction concerns. */
export const keyOf = (write: Write): Key => {
  if ('put' in write) return write.put;
  if ('update' in write) return write.update;
  return 'delete' in write ? write.delete : write.check;
};

const nameOf = ({ pk, sk }: Key): string => `${pk}\n${sk}`;

/** @param pageSize - how many items a query returns at most: a table engine ends a page where it wants */
export function openMemoryTable(pageSize = Number.POSITIVE_INFINITY): MemoryTable {
  const partitions = new Map<string, Map<string, Stored>>();
  const transactions = new Set<string>();
  const find = ({ pk, sk }: Key): Stored | undefined => partitions.get(pk)?.get(sk);
  const read = <T extends Item>(key: Key): T | undefined => clone(find(key)) as T | undefined;

  function store(item: Stored): void {
    const partition = partitions.get(item.pk) ?? new Map<string, Stored>();
    partitions.set(item.pk, partition);
    partition.set(item.sk, withoutUndefined(item));
  }

  function isAllowed(write: Write, isInTransaction: boolean): boolean {
    const key = keyOf(write);
    const [verb = ''] = (['put', 'update', 'delete', 'check'] as const).filter((name) => name in write);
    return allHold(asked({ key, verb, isInTransaction, when: write.when ?? [] }), find(key) ?? {});
  }

  /** What a write makes of its item. @throws Error if its update cannot be made */
  function resultOf(write: Write): Stored | undefined {
    if ('put' in write) return write.put;
    const { pk, sk } = keyOf(write);
    if ('update' in write) return applyUpdate(write, find({ pk, sk }) ?? { pk, sk }) as Stored;
    return 'delete' in write ? undefined : find({ pk, sk });
  }

  /** All of the writes, or none. */
  function execute(writes: readonly Write[]): void {
    for (const [{ pk, sk }, item] of writes.map((write) => [keyOf(write), resultOf(write)] as const)) {
      if (item) store(item);
      else partitions.get(pk)?.delete(sk);
    }
  }

  function writeOne(write: Write): boolean {
    if (!isAllowed(write, false)) return false;
    execute([write]);
    return true;
  }

  return {
    pause: async () => {},

    items: () =>
      [...partitions.keys()].sort(compareKeys).flatMap((pk) => {
        const partition = partitions.get(pk) ?? new Map<string, Stored>();
        return [...partition.keys()].sort(compareKeys).map((sk) => clone(partition.get(sk)) as Stored);
      }),

    get: async (key) => read(key),
    getAll: async (keys) => keys.map((key) => read(key)),

    async query<T extends Item>(pk: string, { range, isBackward, start, ...input }: Query = {}) {
      const sign = isBackward ? -1 : 1;
      const limit = Math.min(input.limit ?? pageSize, pageSize);
      const keys = [...(partitions.get(pk)?.keys() ?? [])].sort((left, right) => compareKeys(left, right) * sign);
      const from = start === undefined ? keys : keys.filter((sk) => compareKeys(sk, start.sk) * sign > 0);
      const isWithin = ([operator, bound]: NonNullable<Query['range']>, sk: string) =>
        operator === 'begins' ? sk.startsWith(bound) : holds([operator, 'sk', bound], { sk });
      const found = range ? from.filter((sk) => isWithin(range, sk)) : from;
      const shown = found.slice(0, limit);
      const items = shown.map((sk) => read({ pk, sk }) as T);
      const last = shown.at(-1);
      return { items, lastKey: shown.length === limit && last !== undefined ? { pk, sk: last } : undefined };
    },

    put: async (item, condition) => writeOne({ put: item, ...condition }),

    async update<T extends Item>(key: Key, { isQuiet, ...update }: Parameters<Table['update']>[1]) {
      if (!writeOne({ update: key, ...update })) return false;
      return (isQuiet ? {} : read(key)) as T;
    },

    delete: async (key, condition) => writeOne({ delete: key, ...condition }),

    async writeAll(writes) {
      if (new Set(writes.map((write) => nameOf(keyOf(write)))).size < writes.length || writes.length > 25)
        throw new Error('a batch has at most 25 writes, of distinct items');
      execute(writes);
    },

    async transact(writes, token) {
      if (token !== undefined && transactions.has(token)) return true;
      const names = new Set(writes.map(keyOf).map(nameOf));
      if (names.size < writes.length || writes.length > 100) throw new Error('a transaction has at most 100 writes, of distinct items');
      const failed = writes.flatMap((write, at) => (isAllowed(write, true) ? [] : [at]));
      if (failed.length > 0) return failed;
      execute(writes);
      if (token !== undefined) transactions.add(token);
      return true;
    },
  };
}
