import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { Condition, Path, Update } from '../../functions/core/table/expression.ts';
import { type Key, keys } from '../../functions/core/table/keys.ts';
import type { Item, Table, Write } from '../../functions/core/table/table.ts';
import { keyOf } from './memory-table.ts';

/** Random operations, which do the same to every table: those of both tables' few items here. */
const itemKeys = ['a', 'b', 'c'].flatMap((name) => [keys.service(name), keys.agent(name)]);

const number = fc.integer({ min: -2, max: 2 });
const text = fc.constantFrom('x', 'y', 'z');
const texts = fc.uniqueArray(text, { minLength: 1 }).map((members) => new Set(members));
const map = fc.record({ a: number, b: number }, { requiredKeys: [] });
const list = fc.tuple(number, number, number);
const attributes = fc.record({ n: number, m: number, t: text, map, list, set: texts }, { requiredKeys: [] });

const path = fc.constantFrom<Path>('n', 'm', 't', 'set', 'list', 'map', ['map', 'a'], ['list', 1], 'pk', 'none');
const plain: fc.Arbitrary<Condition> = fc.oneof(
  fc.tuple(fc.constantFrom('exists', 'absent'), path),
  fc.tuple(fc.constantFrom('=', '<', '<=', '>', '>='), path, fc.oneof(number, text)),
  fc.tuple(fc.constant('lacks' as const), fc.constantFrom<Path>('set', 't', 'n'), text),
  fc.tuple(fc.constant('lacks' as const), fc.constantFrom<Path>('list', 'map', 'none'), number),
  fc.tuple(fc.constant('fewer' as const), fc.constantFrom<Path>('set', 'none'), fc.integer({ min: 1, max: 4 })),
);
const condition = fc.oneof(
  { weight: 4, arbitrary: plain },
  fc.tuple(plain, plain).map(([one, other]): Condition => ['any', one, other]),
);
const when = fc.array(condition, { maxLength: 2 });

/** What may be done to one member: two changes of one are no update. */
const changes: fc.Arbitrary<Update>[] = [
  fc.oneof(
    number.map((n) => ({ set: { n } })),
    number.map((n): Update => ({ add: [['n', n]] })),
    number.map((n) => ({ setOnce: { n } })),
    fc.constant<Update>({ copy: [['n', 'm']] }),
    fc.constant({ remove: ['n'] }),
  ),
  fc.oneof(
    text.map((t) => ({ set: { t } })),
    text.map((t) => ({ setOnce: { t } })),
    fc.constant({ remove: ['t'] }),
  ),
  fc.oneof(
    number.map((n): Update => ({ set: [[['map', 'a'], n]] })),
    number.map((n): Update => ({ add: [[['map', 'b'], n]] })),
    map.map((value) => ({ set: { map: value } })),
  ),
  fc.oneof(
    number.map((n): Update => ({ set: [[['list', 1], n]] })),
    number.map((n): Update => ({ add: [[['list', 0], n]] })),
    fc.constant<Update>({
      copy: [
        [
          ['list', 2],
          ['list', 0],
        ],
      ],
    }),
    list.map((value) => ({ set: { list: value } })),
  ),
  fc.oneof(
    texts.map((set): Update => ({ add: [['set', set]] })),
    texts.map((set) => ({ take: { set } })),
    fc.constant({ remove: ['set'] }),
  ),
];
const update = fc
  .subarray(changes, { minLength: 1, maxLength: 3 })
  .chain((some) => fc.tuple(...some))
  .map((parts): Update => {
    const pairs = (set: Update['set'] = {}) => (Array.isArray(set) ? set : Object.entries(set)) as [Path, unknown][];
    return {
      set: parts.flatMap(({ set }) => pairs(set)),
      setOnce: Object.assign({}, ...parts.map(({ setOnce }) => setOnce)),
      copy: parts.flatMap(({ copy = [] }) => copy),
      add: parts.flatMap(({ add = [] }) => add),
      take: Object.assign({}, ...parts.map(({ take }) => take)),
      remove: parts.flatMap(({ remove = [] }) => remove),
    };
  });

const key = fc.constantFrom(...itemKeys);
const write = fc.oneof(
  fc.record({ put: fc.tuple(key, attributes).map(([at, rest]) => ({ ...at, ...rest })), when }),
  fc.tuple(key, update, when).map(([at, changed, conditions]) => ({ update: at, ...changed, when: conditions })),
  fc.record({ delete: key, when }),
);
const check = fc.record({ check: key, when: fc.tuple(condition) });
const nameOf = ({ pk, sk }: Key): string => `${pk}\n${sk}`;
const transaction = fc.uniqueArray(fc.oneof({ weight: 4, arbitrary: write as fc.Arbitrary<Write> }, check), {
  minLength: 1,
  maxLength: 5,
  selector: (one) => nameOf(keyOf(one)),
});

type Step = { write: Write } | { transact: Write[]; isRepeated: boolean };

/** A few operations, one after the other. */
export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ write: write as fc.Arbitrary<Write> }) },
    { weight: 5, arbitrary: fc.record({ transact: transaction, isRepeated: fc.boolean() }) },
  ),
  { minLength: 1, maxLength: 8 },
);

async function take(table: Table, step: Step): Promise<unknown> {
  if ('transact' in step) {
    const token = randomUUID();
    const outcome = await table.transact(step.transact, token);
    return step.isRepeated ? [outcome, await table.transact(step.transact, token)] : outcome;
  }
  if ('put' in step.write) return table.put(step.write.put, step.write);
  if ('update' in step.write) return table.update(step.write.update, step.write);
  return table.delete(keyOf(step.write), step.write);
}

/** What came of each step, and the items at the end. How a table words that an update cannot be made does not count. */
export async function play(table: Table, all: Step[]): Promise<{ outcomes: unknown[]; items: unknown[] }> {
  for (const one of itemKeys) await table.delete(one);
  const outcomes: unknown[] = [];
  for (const step of all) outcomes.push(await take(table, step).catch(() => 'refused'));
  const items = await table.getAll<Item>(itemKeys);
  return { outcomes, items: items.map((item) => item ?? null) };
}
