import { expect, test } from '@jest/globals';
import { openUsedJtis } from '../../../../functions/core/activity/used-jti.ts';
import { bindAgent } from '../../../support/bind-agent.ts';
import { openMemoryTable } from '../../../world/memory-table.ts';

const table = openMemoryTable();

test('an agent expires 90 days after its last PAT', async () => {
  const expiry = (atMs: number) => atMs / 1_000 + 90 * 24 * 3_600;
  for (const atMs of [0, 10_000]) expect(await bindAgent(table, 'agent', 'key', atMs)).toMatchObject({ expires_at: expiry(atMs) });
  expect(await bindAgent(table, 'agent', 'other', 20_000)).toBeUndefined();
});

test('a jti is swept an hour after its document has expired', async () => {
  await openUsedJtis(table).consume('s', 'with', 1000);
  expect(await table.get({ pk: 'JTI#s', sk: 'with' })).toMatchObject({ expires_at: 4600 });
});
