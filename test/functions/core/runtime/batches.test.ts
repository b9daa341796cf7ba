import { setTimeout } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { batchesOf, concurrently } from '../../../../functions/core/runtime/batches.ts';

test('a list is split into batches of at most a size, in order', () => {
  expect([...batchesOf([1, 2, 3, 4, 5], 2)]).toEqual([[1, 2], [3, 4], [5]]);
  expect([...batchesOf([], 2)]).toEqual([]);
});

test('every item is processed once, and never more than allowed at a time', async () => {
  let [running, most] = [0, 0];
  const done: number[] = [];
  await concurrently(
    Array.from({ length: 20 }, (_, at) => at),
    3,
    async (item) => {
      most = Math.max(most, ++running);
      await setTimeout(item % 3);
      running--;
      done.push(item);
    },
  );
  expect(most).toBe(3);
  expect(done.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, at) => at));
});

test('a failure is thrown once what runs has ended, and nothing starts after it', async () => {
  const ended: number[] = [];
  const work = concurrently([1, 2, 3, 4], 2, async (item) => {
    if (item === 1) throw new Error('the first fails');
    await setTimeout(5);
    ended.push(item);
  });
  await expect(work).rejects.toThrow('the first fails');
  expect(ended).toEqual([2]);
});
