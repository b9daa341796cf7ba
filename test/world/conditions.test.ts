import { expect, test } from '@jest/globals';
import type { Condition } from '../../functions/core/table/expression.ts';
import { keys } from '../../functions/core/table/keys.ts';
import type { Table } from '../../functions/core/table/table.ts';
import { observing } from './conditions.ts';
import { exploreAll, type Scenario } from './explore.ts';
import { openMemoryTable } from './memory-table.ts';

const key = keys.agent('a');
const isFree: Condition = ['absent', 'pk'];

test('conditions are known by record, operation, text and the others beside them, whatever their values', async () => {
  const write = async (table: Table, n: number) => {
    await table.put({ ...key, n }, { when: [['any', isFree, ['=', 'n', n]]] });
    await table.update({ ...key, sk: `WAITS#t${n}` }, { set: { n }, when: [['<', ['map', `m${n}`, 1], n], isFree] });
    await table.transact([
      { check: keys.service(`s${n}`), when: [isFree] },
      {
        delete: key,
        when: [
          ['=', 'n', n],
          ['=', 'n', n],
        ],
      },
    ]);
  };
  const table = openMemoryTable();
  const { conditions } = await observing(async () => {
    for (const n of [1, 2]) await write(table, n);
  });
  expect(conditions).toEqual([
    'AGENT put: absent pk or = n',
    'AGENT WAITS update: < map.*[1] (beside absent pk)',
    'AGENT WAITS update: absent pk (beside < map.*[1])',
    'SERVICE check in a transaction: absent pk',
    'AGENT delete in a transaction: = n',
  ]);
});

const scenario: Scenario = {
  name: 'one place',
  promise: 'one caller takes the place',
  budget: {},
  prepare: async () => {
    let taken = 0;
    return {
      callers: [0, 1].map((n) => async ({ table }) => {
        if ((await table.transact([{ put: { ...key }, when: [isFree] }, { put: { ...keys.agent(`b${n}`) } }])) === true) taken++;
      }),
      check: () => {
        if (taken !== 1) throw new Error(`${taken} took the place`);
      },
    };
  },
};

test('the explorer finds what breaks without a condition, and nothing once it is back', async () => {
  const without = await observing(() => exploreAll(scenario), 'AGENT put in a transaction: absent pk');
  expect(without.value.violation?.message).toBe('2 took the place');
  const { value, conditions } = await observing(() => exploreAll(scenario));
  expect(value).toMatchObject({ isComplete: true });
  expect(value.violation).toBeUndefined();
  expect(conditions).toEqual(['AGENT put in a transaction: absent pk']);
});
