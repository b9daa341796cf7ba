import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isRevoked } from '../../../../functions/core/activity/agent.ts';
import { openAgents } from '../../../../functions/core/activity/agents.ts';
import { openUsedJtis } from '../../../../functions/core/activity/used-jti.ts';
import type { Table } from '../../../../functions/core/table/table.ts';
import { bindAgent } from '../../../support/bind-agent.ts';
import { connectTable } from '../../../support/connect-table.ts';
import { type FaultyProxy, startFaultyProxy } from '../../../support/faulty-proxy.ts';
import { startTable, type TestTable } from '../../../support/table.ts';

let store: TestTable;
let proxy: FaultyProxy;
let distant: Table;

beforeAll(async () => {
  store = await startTable();
  proxy = await startFaultyProxy(store.endpoint, {});
  distant = connectTable(proxy.endpoint, store.tableNames);
});
afterAll(async () => {
  await proxy.stop();
  await store.stop();
});

describe('if the response to a write is lost', () => {
  const fault = 'dropAfter';

  test('an agent_id is bound to the key that bound it', async () => {
    await openAgents(distant).recordsOf(fault, 'first');
    proxy.next.push('none', 'none', fault);
    const bound = await bindAgent(distant, fault, 'first', 1);
    expect(bound).toMatchObject({ agent_id: fault, thumbprint: 'first', first_seen: 1, last_issue: 1 });
    expect(await bindAgent(distant, fault, 'second', 2)).toBeUndefined();
    expect(await bindAgent(distant, fault, 'first', 3)).toEqual({ ...bound, last_issue: 3 });
    const issuedMs = 10_000;
    const renewed = await bindAgent(distant, fault, 'first', issuedMs);
    expect(renewed?.expires_at).toBe(issuedMs / 1_000 + 90 * 24 * 3_600);
  });
});

test('a PAT of an agent that is gone is revoked', () => {
  expect(isRevoked(undefined, { gen: 'g' })).toBe(true);
});

test('a jti is swept an hour after its document has expired', async () => {
  await openUsedJtis(store.table).consume('s', 'with', 1000);
  expect(await store.table.get({ pk: 'JTI#s', sk: 'with' })).toMatchObject({ expires_at: 4600 });
});
