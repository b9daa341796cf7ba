import { createServer } from 'node:http';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { close, listen } from '../../bin/local/http.ts';
import { endpoints } from '../../lib/endpoints.ts';
import { errorTable } from '../../schemas/errors.ts';
import { startBrowser } from '../../tools/chromium.ts';
import { expectAccessible, expectToFit, given, startConsole } from './console-page.ts';

/** The same gate below a stage name, which is removed as API Gateway does. */
const staged = createServer(async ({ url = '' }, response) => {
  const answer = await fetch(`${api.stack.base_url}${url.replace(/^\/live(?=\/)/, '')}`);
  const headers = Object.fromEntries(
    [...answer.headers].filter(([name]) => !['connection', 'keep-alive', 'content-length', 'content-encoding'].includes(name)),
  );
  response.writeHead(answer.status, headers).end(Buffer.from(await answer.arrayBuffer()));
});
const stage = `http://127.0.0.1:${await listen(staged)}/live`;
const { api, browser } = await startConsole({ demo: true, refusals: '401', otherUrl: stage });
afterAll(() => close(staged));

given('the API reference', () => {
  const { base_url: root, admin_token: adminToken } = api.stack;
  afterEach(async () => {
    for (const page of browser.context.pages()) await page.close();
  });

  async function open(hash = '', base = root): Promise<Page> {
    const page = await browser.context.newPage();
    await page.goto(`${base}/docs${hash}`);
    await page.locator('.operation').first().waitFor();
    return page;
  }

  async function send(page: Page): Promise<{ status: string | null; body: unknown }> {
    await page.getByRole('button', { name: 'Send' }).click();
    const body = page.getByRole('region', { name: 'Response body' });
    const text = (await body.textContent()) ?? '';
    return { status: await page.locator('.status').textContent(), body: JSON.parse(text) };
  }

  test('the API reference shows every operation and error', async () => {
    const page = await open();
    expect(page.url()).toBe(`${root}/console#/reference/`);
    expect(await page.locator('.operation').count()).toBe(endpoints.length);
    const codes = page.getByRole('region', { name: 'Error codes' }).getByRole('rowheader');
    expect(await codes.allTextContents()).toEqual(Object.keys(errorTable));
  });

  test.each([root, stage])('the API reference sends requests below %s', async (base) => {
    const page = await open('#/Discovery/search-intents', base);
    await page.getByLabel('query', { exact: true }).fill('what time is it in Tokyo');
    await page.getByLabel('page_size', { exact: true }).fill('1');
    const command = page.getByRole('region', { name: 'curl command' });
    expect(await command.textContent()).toBe(`curl -sS -i -X GET '${root}/api/intents/search?query=what+time+is+it+in+Tokyo&page_size=1'`);
    expect(await send(page)).toMatchObject({
      status: '200',
      body: { intents: [{ intent_uid: 'world.example:get-current-time:v1' }], pagination: { page_size: 1 } },
    });
    await page.getByRole('region', { name: 'Response headers' }).getByRole('rowheader', { name: 'etag' }).waitFor();
  });

  test('the API reference gets a PAT once the policy is accepted, and executes with it', async () => {
    const page = await open('#/Execution/execute-intent');
    expect(await send(page)).toMatchObject({ status: '401', body: { error: { code: 'UNAUTHORIZED' } } });
    await page.getByRole('button', { name: 'Get a PAT' }).click();
    await page.getByRole('button', { name: 'Decline' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByLabel('PAT', { exact: false }).inputValue()).toBe('');
    expect(browser.requests.filter((url) => url.endsWith('/api/pat/issue'))).toEqual([]);
    await page.getByRole('button', { name: 'Get a PAT' }).click();
    await page.getByRole('dialog').getByText('You may execute every intent, at most 60 times a minute.').waitFor();
    await page.getByRole('button', { name: 'Accept' }).click();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    const answered = page.locator('.status').getByText('200');
    await page.getByRole('button', { name: 'Send' }).click();
    await answered.waitFor();
    await page.getByRole('region', { name: 'Response body' }).getByText('Swiss Franc').first().waitFor();
    expect(await page.content()).not.toMatch(/eyJ[\w-]+\.eyJ/);
  });

  test('the API reference sends a pasted admin token until it is removed', async () => {
    const page = await open('#/Agents/list-agents');
    await page.getByLabel('Admin token').fill(adminToken);
    expect(await send(page)).toMatchObject({ status: '200', body: { agents: expect.any(Array) } });
    expect(await page.evaluate('JSON.stringify([{ ...sessionStorage }, { ...localStorage }])')).not.toContain(adminToken);
    await page.getByLabel('Admin token').fill('');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('.status').getByText('401').waitFor();
  });

  test('the API reference links to an error by its code', async () => {
    const page = await open('#VERSION_CONFLICT');
    const code = page.locator('#VERSION_CONFLICT[aria-current]');
    await page.waitForFunction("document.querySelector('#VERSION_CONFLICT').getBoundingClientRect().top < 720");
    expect(await page.getByRole('row').filter({ has: code }).textContent()).toContain('PROTO-INT-010');
  });

  test('the API reference can be read without JavaScript', async () => {
    const plain = await startBrowser({ javaScriptEnabled: false });
    try {
      const page = await plain.context.newPage();
      await page.goto(`${root}/docs#NOT_FOUND`);
      await page.getByText('You must not execute the intent world.example:export-countries:v1, whatever else is permitted.').waitFor();
      expect(await page.locator('tr:target').textContent()).toContain('PROTO-RES-001');
      const links = await page.getByRole('link').evaluateAll((all) => all.map((link) => link.getAttribute('href')));
      expect(links).toEqual(['openapi.json', 'agents.json', 'api/policy', '.well-known/jwks.json', 'console']);
    } finally {
      await plain.close();
    }
  });

  test('the API reference can be used with the keyboard alone', async () => {
    const page = await open();
    await page.locator('#get-policy summary').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Send' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Response body' }).waitFor();
  });

  test('the index of the API reference is filtered by words, and leads to an operation', async () => {
    const page = await open();
    await page.getByLabel('Filter: operations').fill('pat run');
    expect(await page.locator('.operation').count()).toBe(1);
    await page.getByRole('navigation', { name: 'Operations' }).getByRole('link', { name: 'Run an intent with a PAT' }).click();
    await page.locator('#execute-intent form').waitFor();
    await page.getByLabel('Filter: operations').fill('nothing of the kind');
    await page.getByText('No operations match.').waitFor();
  });

  test('the API reference is accessible, and fits a phone', async () => {
    const page = await open();
    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    await page.setViewportSize({ width: 360, height: 740 });
    for (const id of ['create-intent', 'execute-intent', 'search-intents']) {
      await page.evaluate(`location.hash = '#/reference/${id}'`);
      await page.locator(`#${id} form`).waitFor();
      for (const folded of await page
        .locator(`#${id} summary`)
        .getByText(/^(Members|Headers)/)
        .all())
        await folded.click();
    }
    await page.locator('#search-intents').getByRole('button', { name: 'Send' }).click();
    await page.getByRole('region', { name: 'Response body' }).waitFor();
    await expectToFit(page);
    await expectAccessible(page);
  });
});
