import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { type Browser, chromiumPath, startBrowser } from '../../bin/chromium.ts';
import { bodyOf, startApi } from '../e2e/api.ts';
import { intentOf } from '../support/records.ts';
import { startUpstream } from '../support/upstream.ts';
import { expectAccessible, expectToFit, fillIn } from './console-page.ts';

const given = chromiumPath === undefined ? describe.skip : describe;
const api = chromiumPath === undefined ? undefined : await startApi({ policyFile: 'samples/policies/large-refunds-need-a-person.json' });

given('the approvals in the console', () => {
  const { base_url: base = '', admin_password: password = '' } = api?.stack ?? {};
  const uid = 'payments.example:refund:v1';
  let upstream: Awaited<ReturnType<typeof startUpstream>>;
  let browser: Browser;
  let page: Page;
  let pat = '';

  beforeAll(async () => {
    upstream = await startUpstream((_, response) =>
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"refunded":true}'),
    );
    const service_id = await api?.createService();
    const endpoint = { url: `http://127.0.0.1:${upstream.port}/refunds`, method: 'POST', content_type: 'application/json' } as const;
    const input_parameters = [{ name: 'amount', type: 'number', required: true } as const, { name: 'note', type: 'string' } as const];
    await api?.asAdmin('POST', `/api/services/${service_id}/intents`, { ...intentOf(uid, { endpoint, input_parameters }) });
    pat = (await api?.obtainPat('ann')) ?? '';
    browser = await startBrowser();
    page = await browser.context.newPage();
    await page.goto(`${base}/console#/approvals`);
    await page.getByRole('button', { name: 'Sign in' }).first().click();
    await fillIn(page, 'admin', password);
    await page.getByRole('heading', { name: 'Approvals' }).waitFor();
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
    await upstream?.stop();
  });
  afterEach(() => {
    const expected = /favicon|the server responded with a status of 409/;
    expect(browser.complaints.splice(0).filter((text) => !expected.test(text))).toEqual([]);
  });

  /** @returns the id of a call that waits */
  async function refund(amount: number, note: string): Promise<string> {
    const asked = await api?.execute(pat, uid, { amount, note }, { 'Idempotency-Key': `refund-${amount}` });
    return asked ? (String(bodyOf(asked, 202).execution).split('/').at(-1) ?? '') : '';
  }
  const stateOf = async (id: string) => (await api?.call('GET', `/api/executions/${id}`, { token: pat }))?.body;
  const open = (place: string) => page.goto(`${base}/console#/${place}`);

  test('show every argument; the keyboard alone approves', async () => {
    await page.getByText('No call waits for your approval.').waitFor();
    const id = await refund(501, '<b>bold</b>\u202e');
    await open('');
    await open('approvals');
    await page.getByText('amount is 501, note is "<b>bold</b>\\u202e"').waitFor();
    await expectAccessible(page);
    await expectToFit(page);
    await page.getByRole('link', { name: intentOf(uid).intent_name }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('once a person has approved the call').waitFor();
    expect(await page.textContent('main')).toMatch(/ann asks to execute .*amount.*501.*note/s);
    await expectAccessible(page);
    await expectToFit(page);
    await page.getByRole('button', { name: 'Approve' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Yes' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('admin approved this call').waitFor();
    while ((await stateOf(id)).status === 'working') await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await stateOf(id)).toMatchObject({ status: 'done' });
    expect(upstream.seen).toHaveLength(1);
  });

  test('deny with a reason for the agent', async () => {
    const id = await refund(502, 'x');
    await open(`approvals/${id}`);
    await page.getByLabel('Reason').fill('Too much');
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByRole('button', { name: 'Yes' }).click();
    await page.getByText('admin denied this call').waitFor();
    expect(await stateOf(id)).toMatchObject({ status: 'denied', reason: 'Too much' });
  });

  test('say what another admin has decided in the meantime', async () => {
    const id = await refund(503, 'y');
    await open(`approvals/${id}`);
    await page.getByRole('button', { name: 'Approve' }).click();
    const found = (await api?.asAdmin('GET', '/api/approvals'))?.body.approvals[0];
    await api?.asAdmin('POST', `/api/approvals/${id}`, { decision: 'deny' }, { 'If-Match': found.digest });
    await page.getByRole('button', { name: 'Yes' }).click();
    await page.getByText('admin denied this call: it is not made').waitFor();
    await open('approvals');
    await page.getByText('No call waits for your approval.').waitFor();
    await open(`approvals/${id}`);
    await page.getByText('No call with this id waits for your approval').waitFor();
    expect(upstream.seen).toHaveLength(1);
  });
});
