import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { unavailable } from '../../../../functions/core/api-error.ts';
import { openLongPoll } from '../../../../functions/core/execution/long-poll.ts';
import type { Ended } from '../../../../functions/core/mcp/tool.ts';
import { openMemoryTable } from '../../../world/memory-table.ts';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

const request = { remainingMs: () => 29_000 };
const never = async () => undefined;
/** with timers that tests can advance */
const open = (table: Parameters<typeof openLongPoll>[0]) => openLongPoll(table, (ms) => new Promise((resolve) => setTimeout(resolve, ms)));
const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

/** Eight requests at once, each in an instance of its own. @returns how many wait for their answer */
function askAtOnce(table: Parameters<typeof open>[0], read: () => Promise<Ended | undefined> = never): () => number {
  let waiting = 8;
  for (let sent = 0; sent < 8; sent += 1) void open(table)(read, request).finally(() => (waiting -= 1));
  return () => waiting;
}

test('two answers are held back at a time by all instances, for three seconds; the others are not', async () => {
  const table = openMemoryTable();
  for (let round = 0; round < 2; round += 1) {
    const waiting = askAtOnce(table);
    await pass(0);
    expect(waiting()).toBe(2);
    await pass(2_900);
    expect(waiting()).toBe(2);
    await pass(100);
    expect(waiting()).toBe(0);
  }
});

test('a call that ends is answered at once, and so is one that has ended, without a place', async () => {
  const table = openMemoryTable();
  const end = { result: {} };
  let ended: Ended | undefined;
  const held = open(table)(async () => ended, request);
  await pass(700);
  ended = end;
  await pass(300);
  expect(await held).toBe(end);
  const update = jest.spyOn(table, 'update');
  expect(await open(table)(async () => end, request)).toBe(end);
  expect(update).not.toHaveBeenCalled();
});

test('the places of instances that crash become free', async () => {
  const table = openMemoryTable();
  let reads = 0;
  askAtOnce(table, async () => (++reads > 8 ? new Promise(() => {}) : undefined));
  await pass(6_999);
  const update = jest.spyOn(table, 'update');
  expect(await open(table)(never, request)).toBeUndefined();
  expect(update).toHaveBeenCalledTimes(2);
  await pass(1);
  const waiting = askAtOnce(table);
  await pass(0);
  expect(waiting()).toBe(2);
});

test('a table that cannot be written holds nothing back', async () => {
  const update = async () => {
    throw unavailable('The gate cannot reach its database.', new Error('table'));
  };
  expect(await open({ update })(never, request)).toBeUndefined();
});
