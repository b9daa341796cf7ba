import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from '@jest/globals';
import { CompactSign, calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import type { Page } from 'playwright-core';
import { bodyOf } from '../../e2e/api.ts';
import { confirmation, expectAccessible, expectToFit, given, openAsAdmin, startConsole } from '../console-page.ts';

const { api, browser } = await startConsole({ context: { agents: 'approved' }, refusals: '404|409' });
const waits = 'approval_pending';

given('agents in the console of a gate that requires approval', () => {
  let page: Page;

  beforeAll(async () => {
    page = await openAsAdmin(browser, api, 'agents');
  }, 90_000);

  /** Makes a key, and a function that requests PATs with it. */
  async function makeKey() {
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    const key = await exportJWK(publicKey);
    /** @returns the status, and the reason of a refusal */
    const ask = async (agentId: string): Promise<[status: number, reason: unknown]> => {
      const text = JSON.stringify(bodyOf(await api.call('GET', '/api/policy')));
      const signed_policy = await new CompactSign(Buffer.from(text)).setProtectedHeader({ alg: 'ES256' }).sign(privateKey);
      const body = { agent_id: agentId, signed_policy, agent_public_key: JSON.stringify(key) };
      const answer = await api.call('POST', '/api/pat/issue', { body });
      return [answer.status, answer.body.error?.details.reason];
    };
    return { ask, thumbprint: await calculateJwkThumbprint(key) };
  }

  const go = (hash: string) => page.evaluate(`location.hash = ${JSON.stringify(hash)}`);

  async function lookUp(id: string, thumbprint: string): Promise<void> {
    await go('#/agents');
    await page.getByLabel('Agent', { exact: true }).fill(id);
    await page.getByLabel('Key', { exact: true }).fill(thumbprint);
    await page.getByRole('button', { name: 'Look up' }).click();
  }

  async function block(reason: string): Promise<void> {
    await page.getByLabel('Reason').fill(reason);
    await page.getByRole('button', { name: 'Block the agent' }).click();
    await confirmation(page, 'Block the agent').click();
    await page.getByRole('button', { name: 'Unblock' }).waitFor();
  }

  const unknown = 'The gate has no record of this agent.';

  test('the console approves one of two keys that are waiting under the same id', async () => {
    const [first, second] = [await makeKey(), await makeKey()];
    for (const key of [first, second]) expect(await key.ask('in demand')).toEqual([403, waits]);
    await go('#/agents?state=pending');
    await page.getByRole('row', { name: first.thumbprint }).waitFor();
    await lookUp('in demand', '');
    await page.getByRole('alert').getByText('Several keys wait for approval under this agent_id').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: second.thumbprint }).click();
    await page.getByRole('button', { name: 'Approve the agent' }).click();
    await page.getByText('active', { exact: true }).waitFor();
    expect(await second.ask('in demand')).toEqual([200, undefined]);
    expect(await first.ask('in demand')).toEqual([403, 'agent_id_bound']);
    await expectAccessible(page);
  });

  test('the console blocks one of two keys that are waiting under the same id', async () => {
    const [first, second] = [await makeKey(), await makeKey()];
    for (const key of [first, second]) expect(await key.ask('contested')).toEqual([403, waits]);
    await go('#/agents?state=pending');
    const row = page.getByRole('row', { name: first.thumbprint });
    await row.getByRole('link').click();
    await page.getByText('pending', { exact: true }).waitFor();
    await block('not this one');
    expect(await first.ask(`another ${randomUUID()}`)).toEqual([403, 'agent_blocked']);
  });

  test('the console blocks an id and a key that the gate has not seen, and forgets them when the block is lifted', async () => {
    const key = await makeKey();
    const other = await makeKey();
    const named = {
      'ahead of time': { id: 'ahead of time', thumbprint: '', asks: other },
      key: { id: '', thumbprint: key.thumbprint, asks: key },
    };
    for (const { id, thumbprint, asks } of Object.values(named)) {
      await lookUp(id, thumbprint);
      await page.getByText(unknown).waitFor();
      expect(await page.getByRole('button', { name: 'Approve the agent' }).count()).toBe(0);
      expect(await page.getByRole('alert').count()).toBe(0);
      await expectAccessible(page);
      await block('ahead');
      expect(await asks.ask(id || 'whatever')).toEqual([403, 'agent_blocked']);
      await go('#/agents?state=blocked');
      await page.getByRole('link', { name: id || `~${thumbprint}`, exact: true }).click();
      await page.getByText('ahead', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Unblock' }).click();
      await page.getByText(unknown).waitFor();
      expect(await page.getByRole('button', { name: 'Unblock' }).count()).toBe(0);
      expect(await asks.ask(id || 'whatever')).toEqual([403, waits]);
    }
  });

  test('the console approves an id and key before their first request', async () => {
    const key = await makeKey();
    await lookUp('expected', key.thumbprint);
    await page.getByText(unknown).waitFor();
    await page.getByRole('button', { name: 'Approve the agent' }).click();
    await page.getByText('active', { exact: true }).waitFor();
    expect(await key.ask('expected')).toEqual([200, undefined]);
    await page.getByRole('link', { name: 'History of the agent' }).click();
    await page.getByRole('cell', { name: 'approve agent', exact: true }).waitFor();
  });

  test('the console shows the number of displaced requests, and removes all requests', async () => {
    const key = await makeKey();
    expect(await key.ask('one of many')).toEqual([403, waits]);
    // the gate displaces a request only after a thousand others
    await page.route('**/api/agents?*', async (route) => {
      if (route.request().method() !== 'GET') return route.fallback();
      const answer = await route.fetch();
      const read = await answer.json();
      expect(read.displaced).toBe(0);
      return route.fulfill({ response: answer, json: { ...read, displaced: 12 } });
    });
    await go('#/agents?state=pending');
    await page.getByText('newer requests have displaced 12 waiting agents').waitFor();
    await page.setViewportSize({ width: 360, height: 740 });
    await expectToFit(page);
    await expectAccessible(page);
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Clear the queue' }).click();
    await confirmation(page, 'Clear the queue').click();
    await page.getByText('No pending agents').waitFor();
    expect(await page.getByText('have displaced').count()).toBe(0);
    await go('#/history?kind=agent');
    await page.getByRole('cell', { name: /clear agent$/ }).waitFor();
    expect(await key.ask('one of many')).toEqual([403, waits]);
  });
});
