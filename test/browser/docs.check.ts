import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { type Browser, chromiumPath, startBrowser } from '../../bin/chromium.ts';
import { endpoints } from '../../lib/endpoints.ts';
import { errorTable } from '../../schemas/errors.ts';
import { startApi } from '../e2e/api.ts';
import { notTested } from '../support/not-tested.ts';
import { expectAccessible } from './console-page.ts';

const given = chromiumPath === undefined ? describe.skip : describe;
if (chromiumPath === undefined)
  notTested('the reference page: there is no Chromium; install it (apt-get install chromium), or set CHROMIUM to its path');

const api = chromiumPath === undefined ? undefined : await startApi({ demo: true });

given('the reference page', () => {
  const serviceUrl = api?.stack.base_url ?? '';
  let staged: Server;
  let browser: Browser;
  /** addresses at which the gate is called: at the root, and below a stage */
  const bases: Record<string, string> = {};

  beforeAll(async () => {
    bases.root = serviceUrl;
    staged = createServer(
      (request, response) =>
        void forward(request.url ?? '').then(({ status, headers, body }) => response.writeHead(status, headers).end(body)),
    );
    await new Promise<void>((resolve) => staged.listen(0, '127.0.0.1', resolve));
    bases.stage = `http://127.0.0.1:${(staged.address() as AddressInfo).port}/live`;
    browser = await startBrowser();
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    staged?.close();
    await api?.stop();
  });
  afterEach(() => {
    expect(browser.complaints.splice(0)).toEqual([]);
    const allowed = Object.values(bases);
    expect(browser.requests.splice(0).filter((url) => !allowed.some((base) => url.startsWith(`${base}/`)))).toEqual([]);
  });

  /** Removes the name of a stage, as API Gateway does. */
  async function forward(path: string) {
    const answer = await fetch(`${serviceUrl}${path.replace(/^\/live(?=\/)/, '')}`);
    const headers = Object.fromEntries(
      [...answer.headers].filter(([name]) => !['connection', 'keep-alive', 'content-length', 'content-encoding'].includes(name)),
    );
    return { status: answer.status, headers, body: Buffer.from(await answer.arrayBuffer()) };
  }

  async function open(hash = '', base = bases.root): Promise<Page> {
    const page = await browser.context.newPage();
    await page.goto(`${base}/docs${hash}`);
    await page.waitForSelector('.opblock');
    return page;
  }

  const operation = (page: Page, id: string) => page.locator(`[id="operations-${id}"]`);

  async function execute(page: Page, id: string): Promise<unknown> {
    await operation(page, id).locator('button.execute').click();
    const answer = operation(page, id).locator('.live-responses-table .response-col_description .highlight-code').first();
    return JSON.parse((await answer.locator('code').textContent()) ?? '');
  }

  test.each(Object.keys({ root: '', stage: '' }))('shows policy, operations and errors (%s)', async (base) => {
    const page = await open('', bases[base]);
    expect(await page.locator('#policy li').allTextContents()).toEqual(
      expect.arrayContaining([
        'You may execute every intent, at most 60 times a minute.',
        'You must not execute the intent world.example:export-countries:v1, whatever else is permitted.',
      ]),
    );
    expect(await page.locator('.opblock').count()).toBe(endpoints.length);
    expect(await page.locator('#errors tbody tr').evaluateAll((rows) => rows.map(({ id }) => id))).toEqual(Object.keys(errorTable));
    await page.close();
  });

  test.each(Object.keys({ root: '', stage: '' }))('can also be used to search (%s)', async (base) => {
    const page = await open('#/Discovery/search-intents', bases[base]);
    await page.getByPlaceholder('query', { exact: true }).fill('what time is it in Tokyo');
    await page.getByPlaceholder('page_size', { exact: true }).fill('1');
    expect(await execute(page, 'Discovery-search-intents')).toMatchObject({
      intents: [{ intent_uid: 'world.example:get-current-time:v1' }],
      pagination: { page_size: 1 },
    });
    await page.close();
  });

  test('gets a PAT on agreement, and executes with it', async () => {
    const page = await open();
    await page.getByRole('button', { name: 'Agree' }).click();
    await page.getByText('You are the agent docs-').waitFor();
    await page.getByRole('link', { name: 'Execute', exact: true }).click();
    await operation(page, 'Execution-execute-intent').and(page.locator('.is-open')).waitFor();
    expect(await execute(page, 'Execution-execute-intent')).toMatchObject({ code: 'CHF', name: 'Swiss Franc' });
    await page.close();
  });

  test('gets no PAT for a policy other than the one it shows, and shows that', async () => {
    const page = await open();
    const sentences = page.locator('#policy .sentences li');
    await sentences.nth(1).evaluate((item) => Object.assign(item, { textContent: 'You may execute every intent as often as you like.' }));
    await page.getByRole('button', { name: 'Agree' }).click();
    await page.getByText('No PAT: the policy has changed. Read it again, then agree.').waitFor();
    expect(await sentences.allTextContents()).toContain('You may execute every intent, at most 60 times a minute.');
    await page.getByRole('button', { name: 'Agree' }).click();
    await page.getByText('You are the agent docs-').waitFor();
    await page.close();
  });

  test('has an anchor for each error code', async () => {
    const page = await open('#VERSION_CONFLICT');
    const row = page.locator('#VERSION_CONFLICT');
    await page.waitForFunction("document.querySelector('#VERSION_CONFLICT').getBoundingClientRect().top >= 0");
    expect(await row.evaluate((element) => element.matches(':target') && element.getBoundingClientRect().bottom < 720)).toBe(true);
    expect(await row.textContent()).toContain('PROTO-INT-010');
    await page.close();
  });

  test('says beside Execute where a PAT comes from, until there is one', async () => {
    const page = await open('#/Execution/execute-intent');
    await page.getByRole('link', { name: 'agree to the policy first' }).click();
    await page.getByRole('button', { name: 'Agree' }).click();
    await page.getByRole('button', { name: 'Agreed. Get another PAT' }).waitFor();
    expect(await page.locator('.needs-pat').count()).toBe(0);
    await page.close();
  });

  test.each(['light', 'dark'] as const)('is accessible (%s)', async (colorScheme) => {
    const page = await browser.context.newPage();
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.goto(`${bases.root}/docs`);
    await page.waitForSelector('.opblock');
    await expectAccessible(page);
    for (const hash of ['#/Execution/execute-intent', '#/Discovery/search-intents']) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      await page.waitForSelector(`[id="operations-${hash.slice(2).replace('/', '-')}"].is-open .execute-wrapper`);
      await expectAccessible(page);
    }
    await page.close();
  });

  test('fits a phone', async () => {
    const page = await browser.context.newPage();
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(`${bases.root}/docs#/Discovery/search-intents`);
    await page.waitForSelector('.opblock.is-open');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    await page.close();
  });
});
