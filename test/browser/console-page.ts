import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { availableParallelism, loadavg } from 'node:os';
import { afterAll, afterEach, describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { close, listen } from '../../bin/local/http.ts';
import { type Browser, chromiumPath, startBrowser } from '../../tools/chromium.ts';
import { type Api, startApi } from '../e2e/api.ts';
import { notTested } from '../support/not-tested.ts';

/** `describe` for tests that need a browser. */
export const given = chromiumPath === undefined ? describe.skip : describe;

/** How long something may take here that takes this time on an idle machine: programs that want a processor share it. In milliseconds. */
export const underLoad = (idleMs: number): number => idleMs * Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());

/** Starts a gate, if there is a browser. */
export async function startGate(options: Parameters<typeof startApi>[0] = {}): Promise<Api> {
  if (chromiumPath !== undefined) return startApi(options);
  notTested('the pages: there is no Chromium; install it (apt-get install chromium), or set CHROMIUM to its path');
  return { stack: { base_url: '', other_urls: [] }, stop: async () => {} } as unknown as Api;
}

type Setup = Parameters<typeof startGate>[0] & {
  /** body of the service's responses */
  answer?: unknown;
  /** statuses that the tests provoke, as a pattern */
  refusals?: string;
  viewport?: { width: number; height: number };
  /** a further address that the pages may open */
  otherUrl?: string;
};

/** Starts a gate, a service and a browser. After each test, expects that the browser has logged nothing and called only the gate and its user pool. */
export async function startConsole({ answer, refusals, viewport, otherUrl, ...options }: Setup = {}) {
  const api = await startGate(options);
  if (chromiumPath === undefined) return { api, service: { url: '' }, browser: {} as Browser };
  const [service, browser] = await Promise.all([startService(answer), startBrowser(viewport && { viewport })]);
  const own = [api.stack.base_url, otherUrl ?? api.stack.base_url];
  const isOwn = (url: string) =>
    own.some((base) => url.startsWith(`${base}/`)) || /^(data:|http:\/\/127\.0\.0\.1:\d+\/(oauth2|login|favicon))/.test(url);
  afterEach(() => {
    expectNoComplaints(browser, refusals);
    expect(browser.requests.splice(0).filter((url) => !isOwn(url))).toEqual([]);
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });
  return { api, service, browser };
}

/** Opens a view of the console. */
export async function openView({ context }: Browser, { stack }: Api, hash = ''): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${stack.base_url}/console${hash}`);
  await page.locator('h1').waitFor();
  return page;
}

/** Opens an admin view and signs in with the user pool's form. */
export async function openAsAdmin({ context }: Browser, { stack }: Api, place: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${stack.base_url}/console#/${place}`);
  await page.getByRole('button', { name: 'Sign in' }).first().click();
  await fillIn(page, 'admin', stack.admin_password);
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  await settle(page);
  return page;
}

/** Expects no messages in the browser's console, except those that the browser writes about responses with these statuses. */
export function expectNoComplaints({ complaints }: Browser, statuses = ''): void {
  // the stand-in for the user pool has no icon
  const expected = new RegExp(`favicon|the server responded with a status of (${statuses || 'none'})`);
  expect(complaints.splice(0).filter((text) => !expected.test(text))).toEqual([]);
}

export const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Finding {
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

/** Expects that axe reports no violations on the page as it is now. */
export async function expectAccessible(page: Page): Promise<void> {
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(axe);
  const { violations } = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as { violations: Finding[] };
  expect(violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html, failureSummary }) => `${html}: ${failureSummary}`) }))).toEqual(
    [],
  );
}

/** Waits until the view has loaded and has not changed for five frames. */
export const settle = (page: Page): Promise<void> =>
  page.evaluate(`new Promise((resolve) => {
    let quiet = 0;
    const look = () => {
      const isQuiet = document.querySelector('h1') && !document.querySelector('.skeleton, [aria-busy="true"]');
      quiet = isQuiet ? quiet + 1 : 0;
      if (quiet === 5) resolve();
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  })`);

/** The button of the open dialog that confirms an action. */
export const confirmation = (page: Page, verb: string) => page.getByRole('dialog').last().getByRole('button', { name: verb, exact: true });

/** Waits for the user pool's form, and fills it in. */
export async function fillIn(form: Page, userName: string, secret: string): Promise<void> {
  await form.waitForURL(/oauth2|login/);
  await form.locator('input[name="username"]').fill(userName);
  await form.locator('input[type="password"]').fill(secret);
  await form.locator('button[type="submit"], input[type="submit"]').click();
}

/** Expects that the page does not scroll sideways. */
export async function expectToFit(page: Page): Promise<void> {
  expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0);
}

/** Texts that a page must show literally. */
export const hostileTexts = {
  markup: '<img src=x onerror=alert(1)><script>document.title = "owned"</script>',
  entity: '&lt;b&gt; &amp; "quotes" \'and\' `ticks`',
  address: 'javascript:alert(1)',
  long: 'x'.repeat(3_900),
};

/** Starts a service that answers every request with the same body. */
async function startService(answer: unknown): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer((_, response) => response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer)));
  const url = `http://127.0.0.1:${await listen(server)}`;
  return { url, stop: () => close(server) };
}
