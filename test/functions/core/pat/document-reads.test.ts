import { expect, jest, test } from '@jest/globals';
import { openBoundReads } from '../../../../functions/core/pat/document-reads.ts';
import { unavailable } from '../../../../functions/core/runtime/api-error.ts';
import { openMemoryTable } from '../../../world/memory-table.ts';

const refused = {
  code: 'TOO_MANY_REQUESTS',
  status: 429,
  message: 'The gate is reading too many documents of others. Nothing was read; try again after Retry-After.',
  details: { reason: 'documents' },
  headers: { 'Retry-After': '2' },
};
const never = () => new Promise<never>(() => {});

test('of 200 documents at the same time, two instances read four, and refuse the others without waiting', async () => {
  const table = openMemoryTable();
  const instances = [openBoundReads(table, 'issue-pat'), openBoundReads(table, 'issue-pat')] as const;
  const ends: (() => void)[] = [];
  const outcomes = Array.from({ length: 200 }, (_, at) =>
    instances[at % 2 === 0 ? 0 : 1](() => new Promise<string>((resolve) => ends.push(() => resolve('read')))).catch(
      (error: unknown) => error,
    ),
  );
  // those that are refused settle although the four do not
  const settled: unknown[] = [];
  for (const outcome of outcomes) void outcome.then((value) => settled.push(value));
  while (settled.length < 196) await new Promise((resolve) => setImmediate(resolve));
  expect([ends.length, settled.length]).toEqual([4, 196]);
  for (const one of settled) expect(one).toMatchObject(refused);
  for (const end of ends) end();
  expect((await Promise.all(outcomes)).filter((value) => value === 'read')).toHaveLength(4);
  expect(await instances[0](async () => 'next')).toBe('next');
});

test.each<[string, () => Promise<unknown>]>([
  ['ends', async () => 'read'],
  ['fails', () => Promise.reject(new Error('no document'))],
])('a read that %s gives its place back', async (_, read) => {
  const within = openBoundReads(openMemoryTable(), 'issue-pat');
  for (let at = 0; at < 10; at++) await within(read).catch(() => {});
  expect(await within(async () => 'next')).toBe('next');
});

test('each function has its own bound', async () => {
  const table = openMemoryTable();
  for (let at = 0; at < 4; at++) void openBoundReads(table, 'issue-pat')(never);
  await expect(openBoundReads(table, 'issue-pat')(never)).rejects.toMatchObject(refused);
  expect(await openBoundReads(table, 'authorize')(async () => 'read')).toBe('read');
});

test('places of instances that have crashed become free after a few seconds', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] });
  try {
    const within = openBoundReads(openMemoryTable(), 'issue-pat');
    for (let at = 0; at < 4; at++) void within(never);
    await expect(within(never)).rejects.toMatchObject(refused);
    jest.advanceTimersByTime(6_000);
    expect(await within(async () => 'read')).toBe('read');
  } finally {
    jest.useRealTimers();
  }
});

test('if the table is away, nothing is read', async () => {
  const table = { ...openMemoryTable(), update: () => Promise.reject(unavailable('No.')) };
  const read = jest.fn<() => Promise<void>>();
  await expect(openBoundReads(table, 'issue-pat')(read)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  expect(read).not.toHaveBeenCalled();
});
