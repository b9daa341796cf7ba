import { expect, test } from '@jest/globals';
import { maxRunMs, openFeedState } from '../../../functions/opensearch/feed-state.ts';
import { backgroundWith } from '../../../lib/endpoints.ts';
import { openMemoryTable } from '../../world/memory-table.ts';

const table = openMemoryTable();

test('one run is at work at a time, and begins with what the last one has saved', async () => {
  const state = openFeedState(table, 'https://one.example');
  const runs = (await Promise.all(Array.from({ length: 8 }, () => state.begin()))).filter((run) => run !== undefined);
  expect(runs).toEqual([expect.objectContaining({ number: 1, progress: undefined })]);
  const progress = { seen: { seq: 5, digest: 'x' }, fill: { cursor: 'x', intents: 7, startMs: 1 } };
  await runs[0]?.save(progress);
  expect(await state.begin()).toBeUndefined();
  await runs[0]?.end();
  expect(await state.begin()).toMatchObject({ number: 2, progress });
  expect(await openFeedState(table, 'https://other.example').begin()).toMatchObject({ number: 1, progress: undefined });
});

test('no run of the feed lives longer than until it is taken for dead', () => {
  const feed = backgroundWith({ search: 'opensearch' }).find(({ name }) => name === 'feed-search-collection');
  expect((feed?.timeoutSeconds ?? Number.POSITIVE_INFINITY) * 1000).toBeLessThan(maxRunMs);
});
