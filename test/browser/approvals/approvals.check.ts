import { beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { bodyOf } from '../../e2e/api.ts';
import { intentOf } from '../../support/records.ts';
import { confirmation, expectAccessible, expectToFit, given, openAsAdmin, startConsole } from '../console-page.ts';

const { api, service, browser } = await startConsole({
  policyFile: 'samples/policies/large-refunds-need-a-person.json',
  answer: { refunded: true },
  refusals: '403|409',
});

given('a call that waits for approval', () => {
  const uid = 'payments.example:refund:v1';
  let page: Page;
  let pat: string;

  beforeAll(async () => {
    const service_id = await api.createService();
    const endpoint = { url: service.url, method: 'POST', content_type: 'application/json' } as const;
    const input_parameters = [
      { name: 'amount', type: 'number', required: true } as const,
      { name: 'note', type: 'string' } as const,
      { name: 'items', type: 'array' } as const,
    ];
    await api.asAdmin('POST', `/api/services/${service_id}/intents`, { ...intentOf(uid, { endpoint, input_parameters }) });
    pat = await api.obtainPat('ann');
    page = await openAsAdmin(browser, api, 'approvals');
  }, 90_000);

  /** @returns the id of the waiting call */
  async function refund(amount: number, note: string, more: object = {}): Promise<string> {
    const asked = await api.execute(pat, uid, { amount, note, ...more }, { 'Idempotency-Key': `refund-${amount}` });
    return String(bodyOf(asked, 202).execution).split('/').at(-1) ?? '';
  }
  async function decide(decision: string, reason?: string): Promise<void> {
    const [{ id, digest }] = bodyOf(await api.asAdmin('GET', '/api/approvals')).approvals;
    bodyOf(await api.asAdmin('POST', `/api/approvals/${id}`, { decision, reason }, { 'If-Match': `"${digest}"` }));
  }
  const stateOf = async (id: string) => (await api.call('GET', `/api/executions/${id}`, { token: pat })).body;
  const open = (place: string) => page.goto(`${api.stack.base_url}/console#/${place}`);
  const focused = () => page.evaluate<string>('document.activeElement.textContent');
  /** Presses a button with the keyboard, of the dialog that is open last if there is one. */
  const press = async (name: string) => {
    await page.locator('dialog, main').last().getByRole('button', { name, exact: true }).focus();
    await page.keyboard.press('Enter');
  };

  test('a call that waits for approval is counted in sidebar and title, shown to admins with all arguments, and approved with the keyboard alone', async () => {
    await page.getByText('No calls are waiting for your approval.').waitFor();
    const id = await refund(501, '<b>bold</b>\u202e');
    await open('');
    await open('approvals');
    await page.getByText('amount is 501, note is "<b>bold</b>\\u202e"').waitFor();
    await page.getByRole('link', { name: 'Approvals 1', exact: true }).waitFor();
    await page.waitForFunction("document.title === '(1) Approvals – Intent Gate'");
    await page.getByRole('row', { name: /in 59 min/ }).waitFor();
    await expectAccessible(page);
    await expectToFit(page);
    const link = page.getByRole('link', { name: intentOf(uid).intent_name });
    await link.focus();
    await page.keyboard.press('Enter');
    await page.getByText('once a person has approved the call').waitFor();
    expect(await page.textContent('dialog')).toMatch(/ann asks to execute .*amount.*501.*note/s);
    await expectAccessible(page);
    await expectToFit(page);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.waitForURL(/#\/approvals$/);
    expect(await focused()).toBe(intentOf(uid).intent_name);
    await page.keyboard.press('Enter');
    await page.getByText('once a person has approved the call').waitFor();
    await press('Approve');
    await page.getByText('Approve this call of ann?').waitFor();
    expect(await focused()).toBe('Approve');
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await page.getByText('admin approved this call').waitFor();
    await page.getByRole('dialog').first().waitFor({ state: 'detached' });
    expect(await focused()).toMatch(/^admin approved this call of ann: .*\. It will be made once\./);
    await page.getByText('No calls are waiting for your approval.').waitFor();
    await page.waitForFunction("document.title === 'Approvals – Intent Gate'");
    while ((await stateOf(id)).status === 'working');
    expect(await stateOf(id)).toMatchObject({ status: 'done', outcome: { body: { refunded: true } } });
  });

  test('a call that waits for approval is denied in the list with a reason, which the agent sees', async () => {
    const id = await refund(502, 'x');
    await open('');
    await open('approvals');
    await press(`Deny ${intentOf(uid).intent_name} for ann`);
    expect(await page.evaluate('document.activeElement.labels[0].textContent')).toMatch(/^Reason/);
    await page.keyboard.type('Too much');
    await press('Deny');
    await page.getByText('admin denied this call').waitFor();
    expect(await focused()).toMatch(/^admin denied this call of ann: .* It will not be made\./);
    expect(await stateOf(id)).toMatchObject({ status: 'denied', reason: 'Too much' });
  });

  test('a call that waits for approval cannot be decided again after another admin has decided', async () => {
    const id = await refund(503, 'y');
    await open(`approvals/${id}`);
    await press('Approve');
    await page.getByText('Approve this call of ann?').waitFor();
    await decide('deny');
    await page.keyboard.press('Enter');
    await page.getByText(/^You were not the first to decide\. admin denied this call of ann: .* It will not be made\./).waitFor();
    await page.getByText('No calls are waiting for your approval.').waitFor();
    await open(`approvals/${id}`);
    await page.getByText('No call with this id is waiting for your approval').waitFor();
    await expectAccessible(page);
    await press('Close');
  });

  test('a page that has slept past the expiry of a call says so as soon as it is visible, and is not refreshed while it is hidden', async () => {
    await refund(508, 'late');
    const sleeper = await openAsAdmin(browser, api, 'approvals');
    await sleeper.getByRole('row', { name: /in 59 min/ }).waitFor();
    await sleeper.clock.install();
    await sleeper.evaluate('Object.defineProperty(document, "hidden", { value: true, configurable: true })');
    const before = browser.requests.length;
    await sleeper.clock.fastForward(3_600_000);
    expect(browser.requests.length).toBe(before);
    await sleeper.route('**/api/approvals*', (route) => route.abort());
    await sleeper.evaluate('delete document.hidden; document.dispatchEvent(new Event("visibilitychange"))');
    await sleeper.getByRole('row', { name: /expired/ }).waitFor();
    await sleeper.getByRole('alert').waitFor();
    await sleeper.close();
    browser.complaints.length = 0;
    await decide('deny');
  });

  test('a waiting call is shown in full: every item of a long list, every column, and every character of a long text', async () => {
    const picture = `iVBORw0KGgo${'A'.repeat(200)}END`;
    const items = Array.from({ length: 60 }, (_, at) => ({ [`column ${at}`]: `item ${at}` }));
    const id = await refund(504, `${'x'.repeat(120_000)}END OF NOTE`, { items: [...items, ['nested', null], picture] });
    await open(`approvals/${id}`);
    await page.getByText('once a person has approved the call').waitFor();
    const text = (await page.textContent('main')) ?? '';
    for (const part of [
      ...items.map((item) => JSON.stringify(item).slice(1, -1).replace(':', ': ')),
      picture,
      'x END OF NOTE'.replace(' ', ''),
      '"nested",',
    ])
      expect(text).toContain(part);
    expect(await page.getByRole('button', { name: /more/ }).count()).toBe(0);
    await expectToFit(page);
    await decide('deny');
  });

  test('a call that waits for approval is denied together with every other call of its agent', async () => {
    const ids = [await refund(505, 'a'), await refund(506, 'b'), await refund(507, 'c')];
    await open('');
    await open('approvals');
    await page.getByRole('link', { name: 'ann', exact: true }).first().click();
    await page.getByLabel('Reason').fill('Enough');
    await press('Deny all 3 calls of this agent');
    await confirmation(page, 'Deny all 3 calls of this agent').click();
    await page.getByText('No calls are waiting for your approval.').waitFor();
    for (const id of ids) expect(await stateOf(id)).toMatchObject({ status: 'denied', reason: 'Enough' });
  });

  test.each([
    ['approve', '.answer', 'refunded'],
    ['deny', '[role="alert"]', 'Not today'],
  ])('a call that waits for approval is followed on the page of the intent until its decision: %s', async (decision, place, text) => {
    const agent = await browser.context.newPage();
    await agent.goto(`${api.stack.base_url}/console#/intents/${encodeURIComponent(uid)}`);
    await agent.getByLabel('amount').fill('501');
    await agent.getByRole('button', { name: 'Run', exact: true }).click();
    await agent.getByRole('button', { name: 'Accept' }).click();
    await agent.getByText('Waiting for approval until').waitFor();
    await expectAccessible(agent);
    await decide(decision, 'Not today');
    await agent.locator(place).getByText(text).first().waitFor();
    await agent.close();
  });

  test.each([
    ['approve', 'answered', 'refunded'],
    ['deny', 'refused', 'Not today'],
  ])(
    'a call that waits for approval is kept in the list of calls, and followed there after a reload: %s',
    async (decision, state, text) => {
      const agent = await browser.context.newPage();
      await agent.goto(`${api.stack.base_url}/console#/intents/${encodeURIComponent(uid)}`);
      await agent.getByLabel('amount').fill('777');
      await agent.getByRole('button', { name: 'Run', exact: true }).click();
      await agent.getByRole('button', { name: 'Accept' }).click();
      await agent.getByText('Waiting for approval until').waitFor();
      await agent.getByRole('button', { name: 'Run', exact: true }).waitFor();
      await agent.getByRole('main').getByRole('link', { name: 'Your calls' }).click();
      await agent.getByRole('heading', { name: `${uid} waiting` }).waitFor();
      await agent.reload();
      await agent.getByRole('heading', { name: `${uid} waiting` }).waitFor();
      await expectAccessible(agent);
      await agent.getByRole('link', { name: uid }).click();
      await agent.getByText('Waiting for approval until').waitFor();
      expect(await agent.getByLabel('amount').inputValue()).toBe('777');
      await agent.getByRole('link', { name: 'Your calls' }).first().click();
      await decide(decision, 'Not today');
      await agent.getByRole('heading', { name: `${uid} ${state}` }).waitFor();
      if (decision === 'approve') await agent.getByText('Answer', { exact: true }).click();
      await agent.getByText(text).first().waitFor();
      expect(bodyOf(await api.asAdmin('GET', '/api/approvals')).approvals).toEqual([]);
      await agent.close();
    },
  );
});
