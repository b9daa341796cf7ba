import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { type Browser, chromiumPath, startBrowser } from '../../bin/chromium.ts';
import { close, listen } from '../../bin/local/http.ts';
import { startApi } from '../e2e/api.ts';
import { notTested } from '../support/not-tested.ts';
import { makeVerifier, startClientHost } from '../support/sign-in.ts';

const given = chromiumPath === undefined ? describe.skip : describe;
if (chromiumPath === undefined)
  notTested('the pages of sign-in: there is no Chromium; install it (apt-get install chromium), or set CHROMIUM to its path');

const parts = chromiumPath === undefined ? undefined : await Promise.all([startApi({ demo: true }), startClientHost()]);
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The page that a program listens with for its answer, and another site that frames whatever its query names. */
const host = createServer((request, response) => {
  const framed = new URL(request.url ?? '', 'http://host').searchParams.get('frame');
  response.writeHead(200, { 'Content-Type': 'text/html' });
  response.end(
    `<!doctype html><title>Host</title><link rel="icon" href="data:,"><h1>Connected</h1>${framed ? `<iframe src="${framed.replaceAll('&', '&amp;')}"></iframe>` : ''}`,
  );
});
const hostPort = chromiumPath === undefined ? 0 : await listen(host);

afterAll(async () => {
  await Promise.all([close(host), ...(parts ?? []).map((part) => part.stop())]);
});

given('the pages of sign-in', () => {
  const [api, clientHost] = parts ?? [];
  const base = api?.stack.base_url ?? '';
  const callback = `http://127.0.0.1:${hostPort}/callback`;
  const clientId = clientHost?.publish(['http://127.0.0.1/callback']) ?? '';
  const address = (changes: Record<string, string> = {}) =>
    `${base}/oauth/authorize?${new URLSearchParams({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: callback,
      code_challenge: makeVerifier().challenge,
      code_challenge_method: 'S256',
      resource: `${base}/mcp`,
      state: 'state-of-the-host',
      ...changes,
    })}`;

  let browser: Browser;
  afterEach(async () => {
    const { complaints } = browser;
    await browser.close();
    // the browser notes a refusal as such
    expect(complaints.filter((text) => !text.startsWith('Failed to load resource: the server responded with a status of 40'))).toEqual([]);
  });

  /** What axe finds on a page that allows no scripts: it runs beside the page, not in it. */
  async function findFaults(page: Page): Promise<unknown[]> {
    const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(`${axe}; axe.run()`);
    return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
  }

  const focused = (page: Page): Promise<string> =>
    page.evaluate("(document.activeElement?.getAttribute('name') ?? '') + ' ' + (document.activeElement?.textContent ?? '')");

  async function tabTo(page: Page, wanted: string): Promise<void> {
    for (let times = 0; times < 10; times++) {
      await page.keyboard.press('Tab');
      if ((await focused(page)).trim().endsWith(wanted)) return;
    }
    throw new Error(`the keyboard does not get to ${wanted}, only to ${await focused(page)}`);
  }

  async function signIn(page: Page): Promise<void> {
    await page.goto(address());
    await tabTo(page, 'username');
    await page.keyboard.type('user');
    await tabTo(page, 'password');
    await page.keyboard.type(api?.stack.user_password ?? '');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${base}/oauth/authorize?*`);
  }

  test.each([
    ['light', true, 1_280],
    ['dark', true, 1_280],
    ['light', false, 320],
  ] as const)(
    'are used with the keyboard alone (%s, scripts: %s, %d pixels wide), and axe finds nothing',
    async (colorScheme, javaScriptEnabled, width) => {
      browser = await startBrowser({ colorScheme, javaScriptEnabled, viewport: { width, height: 800 } });
      const page = await browser.context.newPage();
      await signIn(page);
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Let Test host act for you?');
      expect(await page.getByRole('listitem').allTextContents()).toContain('You may execute every intent, at most 60 times a minute.');
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      if (javaScriptEnabled) expect(await findFaults(page)).toEqual([]);

      await tabTo(page, 'decision Decline');
      await page.keyboard.press('Shift+Tab');
      expect(await focused(page)).toBe('decision Accept');
      expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
      await page.keyboard.press('Enter');
      await page.waitForURL(`${callback}?*`);
      expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
        code: expect.any(String),
        state: 'state-of-the-host',
        iss: `${base}/oauth`,
      });
    },
    60_000,
  );

  test.each(['light', 'dark'] as const)(
    'lead to a page of the user pool that axe finds nothing on (%s)',
    async (colorScheme) => {
      browser = await startBrowser({ colorScheme, viewport: { width: 320, height: 600 } });
      const page = await browser.context.newPage();
      await page.goto(address());
      expect(await findFaults(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320);
      await page.getByLabel('User name').fill('user');
      await page.getByLabel('Password').fill('wrong');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('alert').getByText('Incorrect username or password.').waitFor();
      expect(await findFaults(page)).toEqual([]);
    },
    60_000,
  );

  test('work at each of the addresses of the gate', async () => {
    browser = await startBrowser({ names: ['localhost'] });
    const page = await browser.context.newPage();
    const [other = ''] = api?.stack.other_urls ?? [];
    expect(other).toBe(base.replace('127.0.0.1', 'localhost'));
    await page.goto(address({ resource: `${other}/mcp` }).replace(base, other));
    await page.getByLabel('User name').fill('user');
    await page.getByLabel('Password').fill(api?.stack.user_password ?? '');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Accept' }).click();
    await page.waitForURL(`${callback}?*`);
    expect(new URL(page.url()).searchParams.get('iss')).toBe(`${other}/oauth`);
  }, 60_000);

  test('say what is wrong, and axe finds nothing', async () => {
    browser = await startBrowser();
    const page = await browser.context.newPage();
    await signIn(page);
    await page.goto(address({ redirect_uri: 'https://other.example/callback' }));
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('This sign-in cannot continue');
    expect(await findFaults(page)).toEqual([]);
  }, 60_000);

  test('are not shown in frames, not even to whoever is signed in', async () => {
    browser = await startBrowser();
    const page = await browser.context.newPage();
    await signIn(page);
    await page.goto(`http://127.0.0.1:${hostPort}/?${new URLSearchParams({ frame: address() })}`);
    await page.waitForTimeout(1_000);
    const frames = page.frames().filter((frame) => frame !== page.mainFrame());
    expect(frames).toHaveLength(1);
    expect(await Promise.all(frames.map((frame) => frame.getByRole('button').count()))).toEqual([0]);
    expect(browser.complaints.splice(0).join()).toContain('frame-ancestors');
  }, 60_000);
});
