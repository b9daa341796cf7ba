import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '../support/random.ts';
import { exploreAll, exploreOne, replay, type Scenario } from './explore.ts';
import { run } from './run.ts';
import { scenarios } from './scenarios.ts';
import { spare } from './spare.ts';

/** In which schedule of which scenario which condition is missed, as the last run of the proofs found out. */
const needs: Record<string, [scenario: string, steps: string]> = JSON.parse(readFileSync('test/world/needed.json', 'utf8'));

const key = { pk: 'LIMIT#key', sk: 'execute' };

/** Callers that look before they write, so that two of them may write. */
const careless: Scenario = {
  name: 'check, then act',
  promise: 'one caller takes the place',
  budget: {},
  prepare: async () => {
    let taken = 0;
    return {
      callers: [0, 1].map(() => async ({ table }) => {
        if (await table.get(key)) return;
        await table.put({ ...key });
        taken++;
      }),
      check: () => {
        if (taken > 1) throw new Error('two took the place');
      },
    };
  },
};

describe('the explorer', () => {
  test('the explorer finds the schedule in which two callers look before either of them writes, and plays it again', async () => {
    const { violation, schedules } = await exploreAll(careless);
    expect(violation?.message).toBe('two took the place');
    expect(schedules).toBeLessThan(10);
    expect(await replay(careless, violation?.script ?? '')).toBe('two took the place');
    expect(await replay(careless, '0.0\n0.1\n1.0')).toBeUndefined();
  });

  test('the explorer finds the schedule at random, too', async () => {
    const random = seededRandom(1);
    const found = await Promise.resolve(Array.from({ length: 30 })).then(async (tries) => {
      for (const _ of tries) {
        const violation = await exploreOne(careless, random);
        if (violation) return violation;
      }
      return undefined;
    });
    expect(found?.message).toBe('two took the place');
  });

  test('the explorer plays every schedule once: what does not meet is in one order only', async () => {
    const apart: Scenario = {
      ...careless,
      prepare: async () => ({
        callers: ['a', 'b'].map(
          (sk) =>
            async ({ table }) =>
              table.put({ pk: 'LIMIT#key', sk }),
        ),
        check: () => {},
      }),
    };
    const together: Scenario = {
      ...apart,
      prepare: async () => ({
        callers: [0, 1].map(
          () =>
            async ({ table }) =>
              table.put({ ...key }),
        ),
        check: () => {},
      }),
    };
    expect(await exploreAll(apart)).toMatchObject({ schedules: 1, isComplete: true });
    expect(await exploreAll(together)).toMatchObject({ schedules: 2, isComplete: true });
  });

  test('the explorer comes to the end of a scenario of the gate', async () => {
    const scenario = scenarios.find(({ name }) => name === 'one signed policy three times') as Scenario;
    expect(await exploreAll(scenario)).toMatchObject({ isComplete: true, schedules: expect.any(Number) });
  });
});

test('every scenario holds if its callers come one after the other; every condition that it meets is known, and where it is missed', async () => {
  const met = new Set<string>();
  for (const { name } of scenarios) {
    const { conditions, violation } = await run(name, { seconds: 0, seed: 1, script: '' });
    expect([name, violation?.message]).toEqual([name, undefined]);
    for (const id of conditions) met.add(id);
  }
  expect(met.size).toBeGreaterThan(20);
  expect([...met].filter((id) => (needs[id] === undefined) === (spare[id] === undefined))).toEqual([]);
});
