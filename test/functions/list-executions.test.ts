import { afterAll, expect, test } from '@jest/globals';
import type { Executed } from '../../functions/core/activity/history.ts';
import { openHistory } from '../../functions/core/activity/history.ts';
import { newUlid } from '../../functions/core/runtime/ulid.ts';
import { createAction } from '../../functions/list-executions.ts';
import { executionPage } from '../../schemas/executions.ts';
import { type Answer, byAdmin, invoke, nextQuery, refusalOf } from '../support/invoke.ts';
import { refusals, startRegistry } from '../support/registry.ts';
import { openMemoryTable } from '../world/memory-table.ts';

const registry = await startRegistry();
afterAll(() => registry.stop());
const table = openMemoryTable();

const nowMs = Date.parse('2026-03-08T12:00:00Z');
const from = '2026-03-01T12:00:00Z';
const read = (query: Record<string, string> = { from }) =>
  invoke(byAdmin(createAction({ history: openHistory(table), now: () => nowMs })), 'GET /api/executions', {
    query,
  });

test('every execution of a period is on exactly one page, whatever the page size', async () => {
  const executed = Array.from(
    { length: 40 },
    (_, at): Executed => ({
      execution_id: newUlid(),
      at: nowMs - at * 5 * 3_600_000,
      agent_id: 'agent-1',
      outcome: 'OK',
      intent_uid: 'a.example:b:v1',
      tags: ['t'],
      trial: { policy: 'p', counts: ['/permission/0'] },
    }),
  );
  await openHistory(table).keep(executed);
  const expected = executed
    .filter(({ at }) => at >= Date.parse(from) && at < nowMs)
    .map(({ at, ...line }) => ({ ...line, started_at: new Date(at).toISOString() }));
  for (const page_size of ['7', '1000']) {
    const found: object[] = [];
    for (let query: Record<string, string> | undefined = { from, page_size }; query; ) {
      const page: Answer = await read(query);
      expect(page.status).toBe(200);
      found.push(...executionPage.parse(page.body).executions);
      query = nextQuery(page);
    }
    const sorted = (all: object[]) => all.map((one) => JSON.stringify(Object.entries(one).sort())).sort();
    expect(sorted(found)).toEqual(sorted(expected));
  }
});

test.each([
  [{}, 'from', 'is required'],
  [{ from: 'yesterday' }, 'from', 'must be a date and time in UTC, such as 2026-02-28T12:00:00Z'],
  [{ from, after: '2026-03-01T00:00#9#x' }, 'after', 'must be that of a next link'],
  [{ from, page_size: '0' }, 'page_size', 'must be a whole number from 1 to 1000'],
])('the query %j is refused', async (query, name, problem) => {
  expect(refusalOf(await read(query))).toEqual(refusals.invalid([`/${name}`, problem]));
});
