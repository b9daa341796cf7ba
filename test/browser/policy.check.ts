import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { bodyOf } from '../e2e/api.ts';
import { intentOf } from '../support/records.ts';
import { confirmation, expectAccessible, expectToFit, given, openAsAdmin, startConsole } from './console-page.ts';

const { api, service, browser } = await startConsole({ answer: { refunded: true }, refusals: '400|404' });
const uid = 'payments.example:refund:v1';

given('the page of the policy', () => {
  let page: Page;
  let pat: string;
  const run = () => api.execute(pat, uid, { code: 'FR' });
  const editor = () => page.getByLabel('Policy', { exact: true });
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
  /** Log lines are delivered later. */
  const untilRecorded = async (calls: number) => {
    const from = new Date(Date.now() - 3_600_000).toISOString();
    const recorded = async () => bodyOf(await api.asAdmin('GET', `/api/executions?from=${from}`)).executions;
    while ((await recorded()).filter(({ outcome }: { outcome: string }) => outcome === 'OK').length < calls) await sleep(200);
  };
  const publish = async () => {
    await button('Publish').click();
    await page.getByText(/^Publish this policy\? \d agents? must sign again before the next call\.$/).waitFor();
    await confirmation(page, 'Publish').click();
    await page.getByText('Published. To undo this').waitFor();
  };

  beforeAll(async () => {
    await api.createIntent(intentOf(uid, { endpoint: { url: service.url, method: 'POST', content_type: 'application/json' } }));
    pat = await api.obtainPat('ann');
    bodyOf(await run());
    await untilRecorded(1);
    page = await openAsAdmin(browser, api, 'policy');
  }, 120_000);

  test('the page shows the rules in force', async () => {
    await page.getByRole('row', { name: /^Every agent may execute every intent at most \d+ times a minute +1$/ }).waitFor();
    await page.getByRole('columnheader', { name: 'Used today' }).waitFor();
    await page.getByText('No other version has been published.').waitFor();
  });

  test('names and terms are completed with the keyboard', async () => {
    await editor().fill('{\n  ');
    await page.keyboard.type('"perm');
    await page.getByRole('option', { name: 'permission What agents may do. Nothing else is permitted.' }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await page.keyboard.type('[{"action": ');
    await page.keyboard.press('Control+Space');
    await page.keyboard.press('Enter');
    expect(await editor().inputValue()).toBe('{\n  "permission": [{"action": "execute"');
    await page.getByRole('button', { name: 'Line 2' }).waitFor();
    await page.keyboard.press('Control+Z');
    expect(await editor().inputValue()).toBe('{\n  "permission": [{"action": ');
    await page.keyboard.press('Control+Space');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Escape');
    expect(await page.getByRole('listbox', { name: 'Suggestions' }).count()).toBe(0);
    await page.keyboard.type('x'.repeat(300));
    expect(await page.evaluate('(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector("textarea"))')).toBe(
      0,
    );
    await button('Discard changes').click();
  });

  test('problems are shown at their lines', async () => {
    const lines = (await editor().inputValue()).split('\n');
    const at = lines.findIndex((line) => line.includes('"operator"'));
    await editor().fill(lines.with(at, '"operator": "above",').join('\n'));
    const problem = page.getByRole('listitem').filter({ has: button(`Line ${at + 1}`) });
    expect(await problem.innerText()).toMatch(/^Line \d+ .*eq/);
    await expectAccessible(page);
    await expectToFit(page);
    await button(`Line ${at + 1}`).click();
    await page.keyboard.insertText(lines[at] ?? '');
    await problem.waitFor({ state: 'detached' });
    expect(await editor().inputValue()).toBe(lines.join('\n'));
    expect(await button('Publish').count()).toBe(0);
  });

  test('a published policy judges the next execution, and the earlier one can be published again', async () => {
    const policy = JSON.parse(await editor().inputValue());
    const target = `{base_url}/api/intents/${uid}`;
    const prohibition = [...(policy.prohibition ?? []), { target, action: 'execute' }];
    await editor().fill(JSON.stringify({ ...policy, prohibition }, null, 2));
    await page.getByText(`Added: You must not execute the intent ${uid}, whatever else is permitted.`).waitFor();
    await expectAccessible(page);
    await publish();
    await page.getByRole('row', { name: `Every agent must not execute the intent ${uid}` }).waitFor();
    expect(await run()).toMatchObject({ status: 403, body: { error: { details: { reason: 'policy_changed' } } } });
    pat = await api.obtainPat('bea');
    expect(await run()).toMatchObject({ status: 403 });

    await button(/^Publish again: sha-256=/).click();
    await page.getByText(`Removed: You must not execute the intent ${uid}, whatever else is permitted.`).waitFor();
    expect(JSON.parse(await editor().inputValue())).toEqual(policy);
    await publish();
    await expectAccessible(page);
    pat = await api.obtainPat('cid');
    bodyOf(await run());
    expect(await button(/^Publish again: sha-256=/).count()).toBe(1);
  });

  test('an edited policy is tried on recent calls, and put on trial', async () => {
    await page.getByText('No policy is on trial.').waitFor();
    await untilRecorded(2);
    await page.getByLabel('Load a policy file').setInputFiles({
      name: 'next.json',
      mimeType: 'application/json',
      buffer: Buffer.from('{"permission": [{"target": "{base_url}/api/intents?namespace=other.example", "action": "execute"}]}'),
    });
    await button('Try your edits on recent calls').click();
    await page.getByRole('heading', { name: 'Your edits, tried on recent calls' }).waitFor();
    await page.getByRole('row', { name: /^– No permission names the intent\. 2 calls would be refused/ }).waitFor();
    await button('Put your edits on trial').click();
    await page.getByText('Checked 0 calls since').waitFor();
    await button('End the trial').click();
    await confirmation(page, 'End the trial').click();
    await page.getByText('No policy is on trial.').waitFor();
  });
});
