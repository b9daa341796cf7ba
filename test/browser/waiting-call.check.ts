import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Browser, chromiumPath, startBrowser } from '../../bin/chromium.ts';
import { bodyOf, startApi } from '../e2e/api.ts';
import { intentOf } from '../support/records.ts';
import { expectAccessible, startService } from './console-page.ts';

const given = chromiumPath === undefined ? describe.skip : describe;
const policyFile = 'samples/policies/large-refunds-need-a-person.json';
const api = chromiumPath === undefined ? undefined : await startApi({ policyFile });

given('a call that waits for approval', () => {
  let browser: Browser;
  let service: Awaited<ReturnType<typeof startService>>;
  const uid = 'payments.example:refund:v1';

  beforeAll(async () => {
    browser = await startBrowser();
    service = await startService({ refunded: true });
    const service_id = await api?.createService();
    const endpoint = { url: service.url, method: 'POST', content_type: 'application/json' } as const;
    const input_parameters = [{ name: 'amount', type: 'number', required: true } as const];
    await api?.asAdmin('POST', `/api/services/${service_id}/intents`, { ...intentOf(uid, { endpoint, input_parameters }) });
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    await Promise.all([api?.stop(), service?.stop()]);
  });

  test.each([
    ['approve', '.answer', 'refunded'],
    ['deny', '[role="alert"]', 'Not today'],
  ])('is followed on the page: %s', async (decision, place, text) => {
    const page = await browser.context.newPage();
    await page.goto(`${api?.stack.base_url}/console#/intents/${encodeURIComponent(uid)}`);
    await page.getByLabel('amount').fill('501');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('button', { name: 'Accept' }).click();
    await page.getByText('A person has to approve this call').waitFor();
    await expectAccessible(page);
    const listed = await api?.asAdmin('GET', '/api/approvals');
    const [{ id, digest }] = listed && bodyOf(listed).approvals;
    const headers = { 'If-Match': `"${digest}"` };
    const decided = await api?.asAdmin('POST', `/api/approvals/${id}`, { decision, reason: 'Not today' }, headers);
    expect(decided?.status).toBe(200);
    await page.locator(place).getByText(text).first().waitFor();
    await page.close();
  });
});
