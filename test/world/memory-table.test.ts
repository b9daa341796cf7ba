import { afterAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { keys } from '../../functions/core/table/keys.ts';
import type { Item, Table } from '../../functions/core/table/table.ts';
import { startTable } from '../support/table.ts';
import { type MemoryTable, openMemoryTable } from './memory-table.ts';

const engine = await startTable();
afterAll(() => engine.stop());

/** The members that generated items have; `map` holds numbers, `list` three of them, `set` texts. */
const names = { '#n': 'n', '#t': 't', '#map': 'map', '#a': 'a', '#list': 'list', '#set': 'set' };
const number = fc.integer({ min: -2, max: 2 });
const text = fc.constantFrom('x', 'y', 'z');
const attributes = fc.record(
  {
    n: number,
    t: text,
    map: fc.record({ a: number, b: number }, { requiredKeys: [] }),
    list: fc.tuple(number, number, number),
    set: fc.uniqueArray(text, { minLength: 1 }).map((members) => new Set(members)),
  },
  { requiredKeys: [] },
);

const paths = ['n', '#n', '#t', '#map.#a', 'map.a', '#list[1]', '#set', 'pk', 'absent'];
/** No store compares one member with another. */
const comparison = fc
  .tuple(fc.constantFrom(...paths), fc.constantFrom('=', '<>', '<', '<=', '>', '>='), fc.constantFrom(':n', ':t'))
  .map((parts) => parts.join(' '));
const existence = fc
  .tuple(fc.constantFrom('attribute_exists', 'attribute_not_exists'), fc.constantFrom(...paths))
  .map(([name, path]) => `${name}(${path})`);
const membership = fc.constantFrom('contains(#set, :t)', 'NOT contains(#list, :n)', 'contains(list, :n)', 'NOT contains(#map, :n)');
const { condition } = fc.letrec<{ condition: string }>((tie) => ({
  condition: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    comparison,
    existence,
    membership,
    fc
      .tuple(tie('condition'), fc.constantFrom(' AND ', ' OR '), tie('condition'))
      .map(([left, joint, right]) => (joint === ' AND ' ? `(${left})${joint}(${right})` : `${left}${joint}${right}`)),
  ),
}));

/** The shapes of update that the stores use. */
const update = fc.constantFrom(
  'SET #n = :n, #t = :t',
  'SET #n = #n + :n, #list[1] = #list[1] + :n',
  'SET #map.#a = #map.#a - :n, #n = :n',
  'SET #map.#a = if_not_exists(#map.#a, :n) + :n, #t = if_not_exists(#t, :t)',
  'SET #t = #n REMOVE #n, #map.#a',
  'REMOVE #map.#a SET #n = #n + :n',
  'ADD #set :s REMOVE #n',
  'DELETE #set :s',
  'REMOVE #list, #t',
  'SET #list[2] = #list[1], #list[1] = #list[0], #list[0] = :n',
);

/** Only names and values that an expression uses may come with it. */
function given(expression: string, values: { n: number; t: string; s: Set<string> }) {
  const used = (all: object, pattern: (name: string) => RegExp) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => pattern(name).test(expression)));
  const usedNames = used(names, (name) => new RegExp(`${name}\\b`));
  const usedValues = used({ ':n': values.n, ':t': values.t, ':s': values.s }, (name) => new RegExp(`${name}\\b`));
  return {
    ...(Object.keys(usedNames).length > 0 && { ExpressionAttributeNames: usedNames }),
    ...(Object.keys(usedValues).length > 0 && { ExpressionAttributeValues: usedValues }),
  };
}

const key = fc.integer({ min: 0, max: 2 }).map((at) => keys.agent(`agent-${at}`));
const values = fc.record({ n: number, t: text, s: fc.uniqueArray(text, { minLength: 1 }).map((members) => new Set(members)) });
const change = fc.record({
  verb: fc.constantFrom('put', 'update', 'delete'),
  at: key,
  item: attributes,
  expression: update,
  condition: fc.option(condition),
  values,
  ReturnValues: fc.constantFrom('ALL_NEW', 'ALL_OLD', 'NONE'),
} as const);
type Step = typeof change extends fc.Arbitrary<infer T> ? T : never;

function run(table: Table, { verb, at, item, expression, condition, values, ReturnValues }: Step): Promise<unknown> {
  const when = { ...(condition !== null && { ConditionExpression: condition }) };
  if (verb === 'put') return table.put({ ...at, ...item }, { ...when, ...given(condition ?? '', values) });
  if (verb === 'delete') return table.delete(at, { ...when, ...given(condition ?? '', values) });
  return table.update(at, { UpdateExpression: expression, ...when, ...given(`${expression} ${condition ?? ''}`, values), ReturnValues });
}

/** What came of a step; an engine's wording for an update that cannot be made does not count. */
const outcomeOf = async (outcome: Promise<unknown>): Promise<unknown> => outcome.catch(() => 'refused');

async function readAll(table: Table): Promise<unknown> {
  const all = await table.getAll<Item>([0, 1, 2].map((at) => keys.agent(`agent-${at}`)));
  return all.map((item) => item ?? null);
}

test('does what the table engine does', async () => {
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), async (steps) => {
      const memory: MemoryTable = openMemoryTable();
      await engine.table.deleteAll([0, 1, 2].map((at) => keys.agent(`agent-${at}`)));
      for (const step of steps) {
        const theirs = await outcomeOf(run(engine.table, step));
        if (theirs === 'refused') refused++;
        else expect(await outcomeOf(run(memory, step))).toEqual(theirs);
      }
      expect(await readAll(memory)).toEqual(await readAll(engine.table));
    }),
    { numRuns: Number(process.env.WORLD_RUNS ?? 150) },
  );
  expect(refused).toBeGreaterThan(0);
}, 60_000);

test.each([
  ['all of a partition', {}],
  ['backward', { ScanIndexForward: false }],
  ['a page', { Limit: 2 }],
  ['the page after it', { Limit: 2, ExclusiveStartKey: keys.agentListed('active', 'b') }],
  ['a page backward', { Limit: 2, ScanIndexForward: false, ExclusiveStartKey: keys.agentListed('active', 'd') }],
  ['what follows a key', { range: 'sk > :after', ExpressionAttributeValues: { ':after': keys.agentListed('active', 'b').sk } }],
  [
    'some members',
    {
      ProjectionExpression: '#n, agent_id',
      ExpressionAttributeNames: { '#n': 'n' },
      range: 'sk >= :from',
      ExpressionAttributeValues: { ':from': 'a' },
    },
  ],
])('lists %s as the table engine does', async (_, query) => {
  const memory = openMemoryTable();
  for (const table of [memory, engine.table]) {
    for (const [at, name] of ['d', 'b', 'a', 'é', 'c'].entries()) {
      await table.put({ ...keys.agentListed('active', name), agent_id: name, n: at });
    }
  }
  const { pk } = keys.agentListed('active', 'a');
  expect(await memory.query(pk, query)).toEqual(await engine.table.query(pk, query));
});
