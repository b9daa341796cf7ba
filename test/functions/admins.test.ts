import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { log } from '../../functions/core/log.ts';
import { selectEntries, toChange } from '../../functions/core/registry/history.ts';
import type { Table } from '../../functions/core/table/table.ts';
import { isUlid } from '../../functions/core/ulid.ts';
import { adminEndpoints, caseOf, changingEndpoints, startAdminEndpoints } from '../support/admin-endpoints.ts';
import { refusalOf } from '../support/invoke.ts';
import { serviceNamed } from '../support/records.ts';
import { openMemoryTable } from '../world/memory-table.ts';

let gate: Awaited<ReturnType<typeof startAdminEndpoints>>;
beforeAll(async () => {
  gate = await startAdminEndpoints();
});
afterAll(() => gate.stop());

const minuteMs = 60_000;

/** The entries that requests left from a moment on, newest first, as they are read so much later. */
async function entriesSince(sinceMs: number, laterMs = 0) {
  const isWanted = selectEntries({ actor: 'alice' });
  const { entries } = await gate.world.history.list({ count: 100, sinceMs, isWanted }, Date.now() + laterMs);
  return entries.map(toChange);
}

test('every endpoint for admins has a case', () => {
  expect(adminEndpoints.map((endpoint) => caseOf(endpoint)).length).toBe(adminEndpoints.length);
  expect(changingEndpoints.filter((endpoint) => caseOf(endpoint).entry === undefined)).toEqual([]);
});

describe('a change leaves exactly one entry', () => {
  const idOf = (body: Record<string, unknown> | undefined, path: Record<string, string> = {}) =>
    body?.intent_uid ?? path.intent_uid ?? path.agent_id ?? path.service_id ?? body?.service_id;

  test.each(changingEndpoints)('$name', async (endpoint) => {
    using lines = jest.spyOn(log, 'info');
    const { prepare, entry } = caseOf(endpoint);
    const prepared = await prepare(gate.world, 'pay.example');
    const startMs = Date.now();
    const answer = await gate.call(endpoint, prepared, gate.adminToken);
    expect(answer.status).toBe(endpoint.success);
    const after = await entriesSince(startMs);
    expect(after).toHaveLength(1);
    const [left] = after;
    const isAgents = entry?.kind === 'agent';
    expect(left).toEqual({
      ...entry,
      changed_at: expect.any(String),
      actor: { subject: 'somebody', user_name: 'alice' },
      id: idOf(endpoint.name === 'create-intent' ? (prepared.body as { intent_uid: string }) : answer.body, prepared.path),
      rev: expect.any(String),
      ...(!isAgents && { namespace: 'pay.example' }),
      ...(left?.digest_before && { digest_before: expect.stringMatching(/^sha-256=[\w-]{43}$/) }),
      ...(left?.digest_after && { digest_after: expect.stringMatching(/^sha-256=[\w-]{43}$/) }),
      request_id: 'request-1',
      outcome: 'applied',
    });
    expect(isUlid(left?.rev ?? '')).toBe(true);
    const hasBefore = !isAgents && entry?.action !== 'create' && endpoint.name !== 'put-service-credential';
    const hasAfter = !isAgents && entry?.action !== 'delete' && endpoint.name !== 'delete-service-credential';
    expect([left?.digest_before !== undefined, left?.digest_after !== undefined]).toEqual([hasBefore, hasAfter]);
    const { actor, action, kind, id, rev, request_id } = left ?? {};
    expect(lines.mock.calls.filter(([message, about]) => message === 'changed' && (about as { rev: string }).rev === rev)).toEqual([
      ['changed', { actor, action, kind, id, rev, request_id }],
    ]);
    expect(JSON.stringify([after, lines.mock.calls])).not.toContain('a-value-that-appears-nowhere');
  });

  type Write = 'put' | 'update' | 'delete';
  type Fault = 'is lost' | 'is lost after it has taken effect' | 'is sent twice';

  /** A table to which one write of the record of a change is faulty. */
  function faulty(table: Table, fault: Fault): Table {
    let isDone = false;
    const guard = (name: Write) => {
      const write = table[name] as (key: { pk: string }, ...more: unknown[]) => Promise<never>;
      return async (key: { pk: string }, ...more: unknown[]) => {
        if (isDone || !/^(SERVICE|INTENT|AGENT)#/.test(key.pk)) return write(key, ...more);
        isDone = true;
        if (fault !== 'is lost') await write(key, ...more);
        if (fault === 'is sent twice') return write(key, ...more);
        throw new Error('crashed');
      };
    };
    return { ...table, put: guard('put'), update: guard('update'), delete: guard('delete') };
  }

  describe.each<Fault>(['is lost', 'is lost after it has taken effect'])('if the write of its record %s', (fault) => {
    test.each(changingEndpoints.filter(({ name }) => name !== 'clear-waiting-agents'))('$name', async (endpoint) => {
      const { prepare, entry } = caseOf(endpoint);
      const prepared = await prepare(gate.world, undefined);
      const startMs = Date.now();
      expect((await gate.over(faulty(gate.table, fault)).call(endpoint, prepared, gate.adminToken)).status).toBe(500);
      const [soon, later] = [await entriesSince(startMs), await entriesSince(startMs, 2 * minuteMs)];
      expect([soon.length, later.length]).toEqual([1, 1]);
      const hasCome = fault !== 'is lost';
      const expected = entry?.kind === 'agent' ? ['open', 'unknown'] : hasCome ? ['applied', 'applied'] : ['open', 'not_applied'];
      expect([soon[0]?.outcome, later[0]?.outcome]).toEqual(expected);
      if (entry?.kind === 'agent') return;

      // whatever is done to the record next tells the same
      await gate.call(endpoint, prepared, gate.adminToken);
      const again = (await entriesSince(startMs)).filter(({ rev }) => rev === soon[0]?.rev);
      const isOpen = endpoint.name === 'create-service' && !hasCome;
      expect(again.map(({ outcome }) => outcome)).toEqual([hasCome ? 'applied' : isOpen ? 'open' : 'not_applied']);
    });
  });

  test.each(changingEndpoints.filter((endpoint) => caseOf(endpoint).entry?.kind !== 'agent'))(
    'if the write of its record is sent twice: $name',
    async (endpoint) => {
      const prepared = await caseOf(endpoint).prepare(gate.world, undefined);
      const startMs = Date.now();
      expect((await gate.over(faulty(gate.table, 'is sent twice')).call(endpoint, prepared, gate.adminToken)).status).toBe(
        endpoint.success,
      );
      const after = await entriesSince(startMs);
      expect(after.map(({ outcome }) => outcome)).toEqual(['applied']);
    },
  );
});

describe('what admins may change', () => {
  const namespaces = ['pay', 'payments', 'pay.example', 'pay.example.com', 'Pay', undefined];
  /** groups and scopes, and the namespaces in which they may change something; undefined: everything */
  const holders: [string, { groups?: string[]; scopes?: string[] }, readonly string[] | undefined][] = [
    ['the group admins', { groups: ['admins'] }, undefined],
    ['the scope admin', { scopes: ['intent-gate/admin'] }, undefined],
    ['the group of pay', { groups: ['admins:pay'] }, ['pay']],
    ['the group of payments', { groups: ['users', 'admins:payments'] }, ['payments']],
    ['the group of pay.example', { groups: ['admins:pay.example'] }, ['pay.example']],
    ['the group of pay.example.com', { groups: ['admins:pay.example.com'] }, ['pay.example.com']],
    ['the group of Pay', { groups: ['admins:Pay'] }, ['Pay']],
    ['the group of pa', { groups: ['admins:pa'] }, ['pa']],
    ['two groups', { groups: ['admins:pay', 'admins:Pay'] }, ['pay', 'Pay']],
    ['the scope of pay', { scopes: ['openid', 'intent-gate/admin:pay'] }, ['pay']],
    ['the scope of pay.example', { scopes: ['intent-gate/admin:pay.example'] }, ['pay.example']],
  ];

  test.each(adminEndpoints.filter(({ name }) => !['list-changes', 'get-stats'].includes(name)))('$name', async (endpoint) => {
    const { prepare, isFullAdminsOnly } = caseOf(endpoint);
    // a thousand requests, which are about who asks: over the table in memory, that takes a tenth of the time
    const { world, call } = gate.over(openMemoryTable());
    for (const namespace of namespaces) {
      const lastEntry = async () => (await world.history.list({ count: 1 })).entries;
      let prepared = await prepare(world, namespace);
      let before = await lastEntry();
      for (const [holder, { groups, scopes = [] }, own] of holders) {
        const token = await (groups ? gate.tokenOf(groups) : gate.machineTokenOf(scopes));
        const isAllowed = own === undefined || (!isFullAdminsOnly && namespace !== undefined && own.includes(namespace));
        const answer = await call(endpoint, prepared, token);
        const outcome = [holder, namespace, answer.status, answer.body?.error?.details.reason];
        expect(outcome).toEqual([holder, namespace, isAllowed ? endpoint.success : 403, isAllowed ? undefined : 'namespace']);
        if (!isAllowed) {
          expect(await lastEntry()).toEqual(before);
          continue;
        }
        prepared = await prepare(world, namespace);
        before = await lastEntry();
      }
    }
  });

  test('the history shows an admin of namespaces what belongs to them, and a full admin everything', async () => {
    const list = adminEndpoints.find(({ name }) => name === 'list-changes') as (typeof adminEndpoints)[number];
    const seenBy = async (groups: string[]) => {
      const { body } = await gate.call(list, {}, await gate.tokenOf(groups));
      return new Set(body.changes.map(({ namespace }: { namespace?: string }) => namespace));
    };
    for (const namespace of ['pay', 'payments', undefined]) {
      await gate.world.services.create({ ...serviceNamed(`Listed ${namespace}`), ...(namespace && { namespace }) });
    }
    expect(await seenBy(['admins:pay'])).toEqual(new Set(['pay']));
    expect(await seenBy(['admins:pay', 'admins:payments'])).toEqual(new Set(['pay', 'payments']));
    expect(await seenBy(['admins'])).toEqual(new Set(['pay', 'payments', undefined]));
    expect(await seenBy(['admins:nothing'])).toEqual(new Set());
  });

  test('a refusal names what the admin may change', async () => {
    const endpoint = changingEndpoints.find(({ name }) => name === 'delete-service') as (typeof changingEndpoints)[number];
    const prepared = await caseOf(endpoint).prepare(gate.world, 'payments');
    expect(refusalOf(await gate.call(endpoint, prepared, await gate.tokenOf(['admins:pay'])))).toEqual({
      status: 403,
      code: 'FORBIDDEN',
      message:
        'This does not belong to a namespace of yours, which details.namespaces lists. Ask an admin of its namespace, or a member of the group admins.',
      details: { reason: 'namespace', namespaces: ['pay'] },
    });
  });
});
