import { afterAll, expect, test } from '@jest/globals';
import { createAction as approveDomain } from '../../../functions/agents/approve-agent-domain.ts';
import { openApprovedDomains } from '../../../functions/agents/approved-domains.ts';
import { createAction as listDomains } from '../../../functions/agents/list-agent-domains.ts';
import { createAction as removeDomain } from '../../../functions/agents/remove-agent-domain.ts';
import type { AdminAction } from '../../../functions/core/admin/for-admins.ts';
import { byAdmin, invoke } from '../../support/invoke.ts';
import { startTable } from '../../support/table.ts';

const store = await startTable();
const domains = openApprovedDomains(store.table);
afterAll(() => store.stop());

test('admins approve, list and withdraw domains', async () => {
  const send = async (action: AdminAction, method: 'GET' | 'PUT' | 'DELETE', domain = '') => {
    const { status, body } = await invoke(byAdmin(action), `${method} /api/agent-domains/{domain}`, { path: { domain } });
    return [status, body?.domains ?? body?.domain ?? body?.error.code];
  };
  expect(await send(approveDomain({ domains }), 'PUT', 'a.example:8443')).toEqual([200, 'a.example:8443']);
  expect(await send(listDomains({ domains }), 'GET')).toEqual([200, [{ domain: 'a.example:8443', approved_at: expect.any(String) }]]);
  for (const name of ['A.example', 'a', 'https://a.example', 'a.example/b', '*.example', '']) {
    expect([name, await send(approveDomain({ domains }), 'PUT', name)]).toEqual([name, [400, 'INVALID_PARAMETER']]);
  }
  expect(await send(removeDomain({ domains }), 'DELETE', 'a.example:8443')).toEqual([204, undefined]);
  expect(await send(removeDomain({ domains }), 'DELETE', 'a.example:8443')).toEqual([404, 'NOT_FOUND']);
});
