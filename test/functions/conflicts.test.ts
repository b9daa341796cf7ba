import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createAction as createBlock } from '../../functions/block-agent.ts';
import { createAction as createChanges } from '../../functions/change-intents.ts';
import { openAgents } from '../../functions/core/activity/agents.ts';
import type { Action } from '../../functions/core/http/serve.ts';
import { openChangeLog } from '../../functions/core/registry/change-log.ts';
import { openIntents } from '../../functions/core/registry/intents.ts';
import { openServices } from '../../functions/core/registry/services.ts';
import type { Table } from '../../functions/core/table/table.ts';
import { createAction as createCreate } from '../../functions/create-intent.ts';
import { createAction as createCreateService } from '../../functions/create-service.ts';
import { openChainCheck } from '../../registry/log-chain.ts';
import { someAdmin } from '../support/admins.ts';
import { connectTable } from '../support/connect-table.ts';
import { type Fault, startFaultyProxy } from '../support/faulty-proxy.ts';
import { type Answer, invoke } from '../support/invoke.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { egress } from '../support/registry.ts';
import { startTable, type TestTable } from '../support/table.ts';

let store: TestTable;
beforeAll(async () => {
  store = await startTable();
});
afterAll(() => store.stop());

/** One process of the gate: the endpoints that change what the log tells of, over a client of their own. */
function openGate(table: Table) {
  const [services, intents] = [openServices(table), openIntents(table)];
  const deps = { verifyAdmin: async () => someAdmin, services, intents, egress, table };
  const agentDeps = { ...deps, agents: openAgents(table), outwait: async () => {} };
  const send = (action: Action, pathParameters: Record<string, string>, body?: unknown, headers: Record<string, string> = {}) =>
    invoke(action, {
      method: 'POST',
      path: `/api/${Object.values(pathParameters).map(encodeURIComponent).join('/')}`,
      pathParameters,
      headers: { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  return {
    createService: (name: string) => send(createCreateService(deps), {}, serviceNamed(name)),
    create: (service_id: string, uid: string) => send(createCreate(deps), { service_id }, intentOf(uid)),
    change: (service_id: string, changes: object) => send(createChanges(deps), { service_id }, changes),
    block: (agent_id: string) => send(createBlock(agentDeps), { agent_id }, { reason: 'a test' }),
  };
}

const newService = async (name: string) => (await openServices(store.table).create(serviceNamed(name))).service_id;
const head = () => openChangeLog(store.table).head();

/** The log is whole, and has so many entries more than it had. */
async function requireEntries(before: number, count: number): Promise<void> {
  const check = openChainCheck(await head());
  check.add((await Array.fromAsync(openChangeLog(store.table).after(0))).flat().reverse());
  expect(check.finish()).toMatchObject({ misfits: [], count: before + count });
}

/** As clients do: what is told to come again comes again. @returns the status of the answer */
async function settled(send: () => Promise<Answer>): Promise<number> {
  for (;;) {
    const { status, headers } = await send();
    if (status !== 503) return status;
    expect(headers['Retry-After']).toBe('1');
    await delay(Math.random() * 1_000);
  }
}

test('admins who change a gate at the same time lose nothing, and none of them is refused', async () => {
  const service = await newService('Contested');
  const { seq } = await head();
  const statuses = await Promise.all(
    Array.from({ length: 12 }, (_, admin) => {
      const gate = openGate(store.table);
      const kinds = [
        () => gate.createService(`Of admin ${admin}`),
        () => gate.create(service, `contested.example:intent-${admin}:v1`),
        () => gate.block(`blocked by ${admin}`),
      ];
      return settled(kinds[admin % 3] as () => Promise<Answer>);
    }),
  );
  expect(statuses).toEqual(Array.from({ length: 12 }, (_, admin) => [201, 201, 200][admin % 3]));
  await requireEntries(seq, 12);
  await expect(openServices(store.table).find(service)).resolves.toMatchObject({ intents: 4 });
}, 60_000);

describe('a request of which one answer of the table is lost', () => {
  let made = 0;
  let service = '';
  const uid = () => `lost.example:intent-${made}:v1`;
  const prepared = async () => openIntents(store.table).create(service, intentOf(uid()));
  type Gate = ReturnType<typeof openGate>;
  beforeAll(async () => {
    service = await newService('Of lost answers');
  });

  test.each<[string, () => Promise<unknown>, (gate: Gate) => Promise<Answer>, number]>([
    ['creates a service', async () => {}, (gate) => gate.createService(`Lost ${made}`), 201],
    ['makes several changes', prepared, (gate) => gate.change(service, { delete: [uid()], create: [intentOf(`${uid()}.1`)] }), 200],
    ['blocks an agent', async () => {}, (gate) => gate.block(`lost ${made}`), 200],
  ])(
    '%s once, and is told so',
    async (_, prepare, send, status) => {
      const proxy = await startFaultyProxy(store.endpoint, {}, 1, 50);
      const gate = openGate(connectTable(proxy.endpoint, store.tableNames));
      /** how many requests the table gets from it if nothing goes wrong */
      let requests = 1;
      for (const fault of ['none', 'dropBefore', 'dropAfter', 'duplicate', 'late'] satisfies (Fault | 'none')[]) {
        for (let at = 0; at < requests; at++) {
          made++;
          await prepare();
          const { seq } = await head();
          const before = proxy.counts.requests;
          proxy.next = [...Array.from({ length: at }, () => 'none' as const), fault];
          expect({ fault, at, status: (await send(gate)).status }).toEqual({ fault, at, status });
          if (fault === 'none') requests = proxy.counts.requests - before;
          if (fault === 'late') await delay(200);
          await expect(head()).resolves.toMatchObject({ seq: seq + 1 });
        }
      }
      expect(requests).toBeGreaterThan(1);
      // the client of the table gives up: the log tells that the change took place
      made++;
      await prepare();
      const { seq } = await head();
      proxy.next = [...Array.from({ length: requests - 1 }, () => 'none' as const), 'dropAfter', 'dropAfter', 'dropAfter'];
      expect((await send(gate)).status).toBe(status);
      await expect(head()).resolves.toMatchObject({ seq: seq + 1 });
      await proxy.stop();
    },
    60_000,
  );
});
