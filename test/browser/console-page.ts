import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { close, listen } from '../../bin/local/http.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Finding {
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

/** Expects that axe finds nothing to complain about in what is shown now. */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(axe);
  const { violations } = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as { violations: Finding[] };
  expect(violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html, failureSummary }) => `${html}: ${failureSummary}`) }))).toEqual(
    [],
  );
}

/** Waits until everything that the view reads is there. */
export async function settle(page: Page): Promise<void> {
  for (let quiet = 0; quiet < 3; ) {
    await page.waitForTimeout(60);
    quiet = (await page.locator('.skeleton, [aria-busy="true"]').count()) === 0 ? quiet + 1 : 0;
  }
}

/** Fills in the form of the user pool, once that is shown. */
export async function fillIn(form: Page, userName: string, secret: string): Promise<void> {
  await form.waitForURL(/oauth2|login/);
  await form.locator('input[name="username"]').fill(userName);
  await form.locator('input[type="password"]').fill(secret);
  await form.locator('button[type="submit"], input[type="submit"]').click();
}

/** Expects that nothing has to be scrolled sideways. */
export async function expectToFit(page: Page): Promise<void> {
  expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0);
}

/** Texts that a page has to show as what they are. */
export const hostileTexts = {
  markup: '<img src=x onerror=alert(1)><script>document.title = "owned"</script>',
  entity: '&lt;b&gt; &amp; "quotes" \'and\' `ticks`',
  address: 'javascript:alert(1)',
  long: 'x'.repeat(3_900),
};

/** A service that answers every request with this. */
export async function startService(answer: unknown): Promise<{ url: string; server: Server; stop(): Promise<void> }> {
  const server = createServer((_, response) => response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer)));
  const url = `http://127.0.0.1:${await listen(server)}`;
  return { url, server, stop: () => close(server) };
}
