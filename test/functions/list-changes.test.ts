import { afterAll, expect, test } from '@jest/globals';
import { openChangeLog } from '../../functions/core/registry/change-log.ts';
import { digestOf } from '../../functions/core/registry/log.ts';
import { createAction } from '../../functions/list-changes.ts';
import { changePage, type LogEntry } from '../../schemas/changes.ts';
import { byAdmin, invoke, nextQuery, refusalOf } from '../support/invoke.ts';
import { serviceNamed } from '../support/records.ts';
import { refusals, startRegistry } from '../support/registry.ts';

const registry = await startRegistry();
afterAll(() => registry.stop());

const list = (query: Record<string, string> = {}) =>
  invoke(byAdmin(createAction({ changeLog: openChangeLog(registry.table) })), 'GET /api/changes', {
    query,
  });

const by = { actor: { subject: 'one', user_name: 'bob' }, requestId: 'request-2' };
const service = await registry.services.as(by).create({ ...serviceNamed('First'), namespace: 'pay.example' });
await registry.createIntent();

test('GET /api/changes shows who changed what, newest first, with a link to the next page', async () => {
  const { status, headers, body } = await list({ page_size: '2' });
  expect({ status, changes: body.entries.map((entry: LogEntry) => entry.changes.map(({ kind, action }) => [kind, action])) }).toEqual({
    status: 200,
    changes: [[['intent', 'create']], [['service', 'create']]],
  });
  expect(body.head).toEqual({ seq: 3, digest: digestOf(body.entries[0]) });
  changePage.parse(body);
  expect(headers).toMatchObject({ Link: expect.stringMatching(/^<https:..api.example.test.api.changes\?/), 'Cache-Control': 'no-store' });
  const next = await list(nextQuery({ status, headers, body }));
  expect(next.body.entries).toEqual([
    {
      seq: 1,
      at: expect.any(String),
      actor: by.actor,
      request_id: 'request-2',
      namespace: 'pay.example',
      changes: [{ kind: 'service', id: service.service_id, action: 'create', digest_after: expect.stringMatching(/^sha-256=/) }],
      previous: null,
    },
  ]);
  expect(next.headers).not.toHaveProperty('Link');
});

test.each<[Record<string, string>, number]>([
  [{ kind: 'intent' }, 1],
  [{ id: service.service_id, kind: 'intent' }, 0],
  [{ actor: 'bob' }, 1],
  [{ actor: 'operator' }, 2],
  [{ actor: 'bo' }, 0],
  [{ since: '2020-01-01T00:00:00Z' }, 3],
  [{ since: '2199-01-01T00:00:00+02:00' }, 0],
])('GET /api/changes filters by %j', async (query, count) => {
  expect((await list(query)).body.entries).toHaveLength(count);
});

test('GET /api/changes names every invalid parameter', async () => {
  expect(refusalOf(await list({ since: 'yesterday', kind: 'name', page_size: '0', before: 'x' }))).toEqual(
    refusals.invalid(
      ['/since', 'must be a date and time as in 2027-03-01T09:30:00Z'],
      ['/kind', 'must be one of "service", "intent", "agent", "execution", "policy"'],
      ['/page_size', 'must be a whole number from 1 to 100'],
      ['/before', 'must be as in the next link'],
    ),
  );
});
