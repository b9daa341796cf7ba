import { afterAll, expect, test } from '@jest/globals';
import { openHistory } from '../../functions/core/registry/history.ts';
import { createAction } from '../../functions/list-changes.ts';
import { changePage } from '../../schemas/changes.ts';
import { invoke, refusalOf } from '../support/invoke.ts';
import { serviceNamed } from '../support/records.ts';
import { type Headers, refusals, startRegistry, testAdminsAlone } from '../support/registry.ts';

const registry = await startRegistry();
afterAll(() => registry.stop());

const list = (query: Record<string, string> = {}, headers: Headers = registry.asAdmin) =>
  invoke(createAction({ verifyAdmin: registry.verifyAdmin, history: openHistory(registry.table) }), {
    path: '/api/changes',
    query,
    headers,
  });

testAdminsAlone(registry, (headers) => list({ kind: 'nothing' }, headers));

const by = { actor: { subject: 'one', user_name: 'bob' }, requestId: 'request-2' };
const service = await registry.services.as(by).create({ ...serviceNamed('First'), namespace: 'pay.example' });
const { uid } = await registry.createIntent();

test('shows who changed what, newest first, with a link to the next page', async () => {
  const { status, headers, body } = await list({ page_size: '2' });
  expect({ status, changes: body.changes.map(({ kind, action }: { kind: string; action: string }) => [kind, action]) }).toEqual({
    status: 200,
    changes: [
      ['intent', 'create'],
      ['service', 'create'],
    ],
  });
  changePage.parse(body);
  const [, query = ''] = /^<https:\/\/api\.example\/test\/api\/changes\?([^>]+)>; rel="next"$/.exec(String(headers.Link)) ?? [];
  expect(headers).toMatchObject({ 'Cache-Control': 'no-store' });
  const next = await list(Object.fromEntries(new URLSearchParams(query)));
  expect(next.body.changes).toEqual([
    {
      changed_at: expect.any(String),
      actor: by.actor,
      action: 'create',
      kind: 'service',
      id: service.service_id,
      rev: service.rev,
      namespace: 'pay.example',
      digest_after: expect.stringMatching(/^sha-256=/),
      request_id: 'request-2',
      outcome: 'applied',
    },
  ]);
  expect(next.headers).not.toHaveProperty('Link');
});

test.each<[Record<string, string>, number]>([
  [{ kind: 'intent' }, 1],
  [{ kind: 'agent' }, 0],
  [{ id: uid }, 1],
  [{ id: service.service_id, kind: 'intent' }, 0],
  [{ actor: 'bob' }, 1],
  [{ actor: 'one' }, 1],
  [{ actor: 'operator' }, 2],
  [{ actor: 'bo' }, 0],
  [{ since: '2020-01-01T00:00:00Z' }, 3],
  [{ since: '2199-01-01T00:00:00+02:00' }, 0],
])('with %j shows only those', async (query, count) => {
  expect((await list(query)).body.changes).toHaveLength(count);
});

test('names every parameter that is wrong', async () => {
  expect(refusalOf(await list({ since: 'yesterday', kind: 'name', page_size: '0', after: 'x' }))).toEqual(
    refusals.invalid(
      ['/since', 'must be a date and time as in 2027-03-01T09:30:00Z'],
      ['/kind', 'must be one of "service", "intent", "agent", "key"'],
      ['/page_size', 'must be a whole number from 1 to 100'],
      ['/after', 'must be as the next link gives it'],
    ),
  );
});
