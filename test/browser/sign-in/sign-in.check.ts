import { createServer } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { close, listen } from '../../../bin/local/http.ts';
import { type Browser, chromiumPath, startBrowser } from '../../../tools/chromium.ts';
import { makeVerifier, startClientHost } from '../../support/sign-in/sign-in.ts';
import { axe, expectNoComplaints, given, startGate } from '../console-page.ts';

/** The page on which a program waits for the redirect, and another site, which frames the address in its query. */
const host = createServer((request, response) => {
  const framed = new URL(request.url ?? '', 'http://host').searchParams.get('frame');
  response.writeHead(200, { 'Content-Type': 'text/html' });
  response.end(
    `<!doctype html><title>Host</title><link rel="icon" href="data:,"><h1>Connected</h1>${framed ? `<iframe src="${framed.replaceAll('&', '&amp;')}"></iframe>` : ''}`,
  );
});
const hostPort = chromiumPath === undefined ? 0 : await listen(host);
const [api, clientHost] = await Promise.all([startGate({ demo: true }), startClientHost()]);

afterAll(() => Promise.all([close(host), clientHost.stop()]));

given('the sign-in pages', () => {
  const { base_url: base, user_password: password } = api.stack;
  const callback = `http://127.0.0.1:${hostPort}/callback`;
  const clientId = clientHost.publish(['http://127.0.0.1/callback']);
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
  let withoutScripts: Browser;
  beforeAll(async () => {
    browser = await startBrowser({ names: ['localhost'] });
    withoutScripts = await startBrowser({ javaScriptEnabled: false });
  }, 60_000);
  afterEach(() => expectNoComplaints(browser, '40.'));
  afterAll(() => Promise.all([browser?.close(), withoutScripts?.close()]));

  async function open({ context } = browser, colorScheme: 'light' | 'dark' = 'light', width = 320): Promise<Page> {
    await context.clearCookies();
    const page = await context.newPage();
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    return page;
  }

  /** Violations that axe reports. It runs outside of the page, which allows no scripts. */
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
    throw new Error(`Tab does not reach ${wanted}; the focus is on ${await focused(page)}`);
  }

  async function signIn(page: Page): Promise<void> {
    await page.goto(address());
    await tabTo(page, 'username');
    await page.keyboard.type('user');
    await tabTo(page, 'password');
    await page.keyboard.type(password);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${base}/oauth/authorize?*`);
  }

  test.each([
    ['light', true, 1_280],
    ['dark', true, 1_280],
    ['light', false, 320],
  ] as const)(
    'the sign-in pages can be used with the keyboard alone, and are accessible (%s, scripts: %s, %d pixels wide)',
    async (colorScheme, javaScriptEnabled, width) => {
      const page = await open(javaScriptEnabled ? browser : withoutScripts, colorScheme, width);
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
  );

  test.each(['light', 'dark'] as const)('the sign-in pages lead to an accessible page of the user pool (%s)', async (colorScheme) => {
    const page = await open(browser, colorScheme);
    await page.goto(address());
    expect(await findFaults(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320);
    await page.getByLabel('User name').fill('user');
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('Incorrect username or password.').waitFor();
    expect(await findFaults(page)).toEqual([]);
  });

  test('the sign-in pages work at each address of the gate', async () => {
    const page = await open();
    const [other = ''] = api.stack.other_urls ?? [];
    expect(other).toBe(base.replace('127.0.0.1', 'localhost'));
    await page.goto(address({ resource: `${other}/mcp` }).replace(base, other));
    await page.getByLabel('User name').fill('user');
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Accept' }).click();
    await page.waitForURL(`${callback}?*`);
    expect(new URL(page.url()).searchParams.get('iss')).toBe(`${other}/oauth`);
  });

  test('the sign-in pages explain a request that is refused, accessibly', async () => {
    const page = await open();
    await signIn(page);
    await page.goto(address({ redirect_uri: 'https://other.example/callback' }));
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('This sign-in cannot continue');
    expect(await findFaults(page)).toEqual([]);
  });

  test('the sign-in pages are not shown in frames, even to somebody who is signed in', async () => {
    const page = await open();
    await signIn(page);
    await page.goto(`http://127.0.0.1:${hostPort}/?${new URLSearchParams({ frame: address() })}`);
    while (!browser.complaints.join().includes('frame-ancestors')) await page.waitForTimeout(20);
    const frames = page.frames().filter((frame) => frame !== page.mainFrame());
    expect(frames).toHaveLength(1);
    expect(await Promise.all(frames.map((frame) => frame.getByRole('button').count()))).toEqual([0]);
    browser.complaints.length = 0;
  });
});
