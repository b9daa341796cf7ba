import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { Admin } from '../../functions/core/admin/admin.ts';
import { log } from '../../functions/core/runtime/log.ts';
import type { Endpoint } from '../../lib/endpoints.ts';
import { adminEndpoints, caseOf, changingEndpoints, startAdminEndpoints } from '../support/admin-endpoints.ts';
import { features } from '../support/features.ts';
import { type Call, refusalOf, someAdmin } from '../support/invoke.ts';
import { skipOutwaiting } from '../support/let-pass.ts';
import { serviceNamed } from '../support/records.ts';
import { openMemoryTable } from '../world/memory-table.ts';

beforeAll(skipOutwaiting);

const gate = await startAdminEndpoints();
afterAll(() => gate.stop());

/** An admin of these namespaces, or a full one. */
const adminOf = (namespaces?: string[]): Admin => ({ ...someAdmin, ...(namespaces && { namespaces }) });

/** The entries of the log after one, oldest first. */
const entriesAfter = async (seq: number) => (await Array.fromAsync(gate.world.changeLog.after(seq))).flat();
const headSeq = async () => (await gate.world.changeLog.head()).seq;

test('every endpoint for admins has a case', () => {
  expect(adminEndpoints.map((endpoint) => caseOf(endpoint)).length).toBe(adminEndpoints.length);
  expect(changingEndpoints.filter((endpoint) => !caseOf(endpoint).entry && !caseOf(endpoint).changesNothing)).toEqual([]);
});

describe('a change leaves exactly one entry', () => {
  const aDigest = expect.stringMatching(/^sha-256=[\w-]{43}$/);
  const idOf = (body: Record<string, unknown> | undefined, path: Record<string, string> = {}) =>
    body?.intent_uid ?? path.intent_uid ?? path.agent_id ?? path.domain ?? path.id ?? path.service_id ?? body?.service_id;

  test.each(changingEndpoints.filter((endpoint) => caseOf(endpoint).entry))(
    'a change by $name leaves exactly one entry',
    async (endpoint) => {
      using lines = jest.spyOn(log, 'info');
      const { prepare, entry } = caseOf(endpoint);
      const prepared = await prepare(gate.world, 'pay.example');
      const before = await headSeq();
      const answer = await gate.call(endpoint, prepared);
      expect(answer.status).toBe(endpoint.success);
      const after = await entriesAfter(before);
      expect(after).toHaveLength(1);
      const [left] = after;
      const [change] = left?.changes ?? [];
      const isAgents = entry?.kind === 'agent';
      const isPolicy = entry?.kind === 'policy';
      const created = (prepared.body as { create?: { intent_uid: string }[] } | undefined)?.create?.[0];
      const body = created ?? (endpoint.name === 'create-intent' ? (prepared.body as { intent_uid: string }) : answer.body);
      const id = entry?.id ?? idOf(body, prepared.path);
      expect(left).toEqual({
        seq: before + 1,
        at: expect.any(String),
        actor: { subject: 'somebody', user_name: 'alice' },
        request_id: 'request-1',
        ...(!isAgents && !isPolicy && { namespace: 'pay.example' }),
        changes: [
          {
            ...entry,
            id,
            ...(change?.digest_before && { digest_before: aDigest }),
            ...(change?.digest_after && { digest_after: aDigest }),
          },
        ],
        previous: before === 0 ? null : aDigest,
      });
      const hasBefore = !isAgents && entry?.action !== 'create' && endpoint.name !== 'put-service-credential';
      const hasAfter = !isAgents && !['delete', 'deny'].includes(entry?.action ?? '') && endpoint.name !== 'delete-service-credential';
      // the first policy on trial replaces none
      expect([isPolicy || change?.digest_before !== undefined, change?.digest_after !== undefined]).toEqual([hasBefore, hasAfter]);
      expect(lines.mock.calls.filter(([message]) => message === 'changed').slice(-1)).toEqual([
        ['changed', { actor: left?.actor, request_id: 'request-1', action: entry?.action, kind: entry?.kind, id, seq: before + 1 }],
      ]);
      expect(JSON.stringify([after, lines.mock.calls])).not.toContain('a-value-that-appears-nowhere');
    },
  );
});

describe('what admins may change', () => {
  const namespaces = ['pay', 'payments', 'pay.example', 'pay.example.com', 'Pay', undefined];
  const own = [undefined, ['pay'], ['payments'], ['pay.example'], ['pay.example.com'], ['Pay'], ['pa'], ['pay', 'Pay']];

  test.each(adminEndpoints.filter((endpoint) => !caseOf(endpoint).isForAll))('the namespaces of an admin limit $name', async (endpoint) => {
    const { prepare, isFullAdminsOnly } = caseOf(endpoint);
    // many requests, and only the caller matters: the in-memory table takes a tenth of the time
    const { world, call } = gate.over(openMemoryTable());
    for (const namespace of namespaces) {
      const lastEntry = () => world.changeLog.head();
      let prepared = await prepare(world, namespace);
      let before = await lastEntry();
      for (const namespaces of own) {
        const isAllowed = namespaces === undefined || (!isFullAdminsOnly && namespace !== undefined && namespaces.includes(namespace));
        const answer = await call(endpoint, prepared, adminOf(namespaces));
        const outcome = [namespaces, namespace, answer.status, answer.body?.error?.details.reason];
        expect(outcome).toEqual([namespaces, namespace, isAllowed ? endpoint.success : 403, isAllowed ? undefined : 'namespace']);
        if (!isAllowed) {
          expect(await lastEntry()).toEqual(before);
          continue;
        }
        prepared = await prepare(world, namespace);
        before = await lastEntry();
      }
    }
  });

  test('the history shows namespace admins the changes of their namespaces, and full admins every change', async () => {
    const list = adminEndpoints.find(({ name }) => name === 'list-changes') as (typeof adminEndpoints)[number];
    const seenBy = async (namespaces?: string[]) => {
      const { body } = await gate.call(list, {}, adminOf(namespaces));
      return new Set(body.entries.map(({ namespace }: { namespace?: string }) => namespace));
    };
    for (const namespace of ['pay', 'pay.example', 'payments', undefined]) {
      await gate.world.services.create({ ...serviceNamed(`Listed ${namespace}`), ...(namespace && { namespace }) });
    }
    expect(await seenBy(['pay'])).toEqual(new Set(['pay']));
    expect(await seenBy(['pay', 'payments'])).toEqual(new Set(['pay', 'payments']));
    expect(await seenBy()).toEqual(new Set(['pay', 'pay.example', 'payments', undefined]));
    expect(await seenBy(['nothing'])).toEqual(new Set());
  });

  test('a refusal names what the admin may change', async () => {
    const endpoint = changingEndpoints.find(({ name }) => name === 'delete-service') as (typeof changingEndpoints)[number];
    const prepared = await caseOf(endpoint).prepare(gate.world, 'payments');
    expect(refusalOf(await gate.call(endpoint, prepared, adminOf(['pay'])))).toEqual({
      status: 403,
      code: 'FORBIDDEN',
      message:
        'Your namespaces (details.namespaces) do not include this one. Ask an admin of its namespace, or a member of the group admins.',
      details: { reason: 'namespace', namespaces: ['pay'] },
    });
  });
});

test.each<readonly [endpoint: string, call: Call]>([
  ['list-executions', {}],
  ['list-changes', { query: { page_size: '0' } }],
  ...features.flatMap(({ invalid = [] }) => invalid),
])('%s refuses %j', async (name, call) => {
  const endpoint = adminEndpoints.find((one) => one.name === name) as Endpoint;
  const prepared = await caseOf(endpoint).prepare(gate.world, undefined);
  const before = await headSeq();
  expect(refusalOf(await gate.call(endpoint, { ...prepared, query: {}, ...call }))).toMatchObject({
    status: 400,
    code: 'INVALID_PARAMETER',
    message: 'The request is not valid. Correct every problem in details.issues, then send it again.',
  });
  expect(await headSeq()).toBe(before);
});
