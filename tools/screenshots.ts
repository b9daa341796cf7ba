/** `npm run screenshots`: makes the pictures of the README from the local stack and from the text of the diagram. Needs Chromium. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { chromiumPath, startBrowser } from '../bin/chromium.ts';
import { startStack } from '../bin/local/stack.ts';
import { drawDiagram, readDiagram, type Scheme } from './pictures/diagram.ts';

const folder = join(import.meta.dirname, '..', 'docs', 'pictures');
const schemes: Scheme[] = ['light', 'dark'];

const diagram = readDiagram(readFileSync(join(folder, 'way-of-a-call.txt'), 'utf8'));
for (const scheme of schemes) {
  writeFileSync(join(folder, `way-of-a-call-${scheme}.svg`), drawDiagram(diagram, 'The way of a call', scheme));
}

if (chromiumPath === undefined) {
  console.error('There is no Chromium to take screenshots with. Install it (apt-get install chromium), or set CHROMIUM to its path.');
  process.exit(1);
}

const stack = await startStack({ port: 0, quiet: true });
const browser = await startBrowser({ viewport: { width: 1000, height: 900 }, deviceScaleFactor: 1 });
const page = await browser.context.newPage();

async function shoot(name: string): Promise<void> {
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) });
    console.log(`docs/pictures/${name}-${colorScheme}.png`);
  }
}

async function run(to: Page, uid: string, values: Record<string, string>): Promise<void> {
  await to.goto(`${stack.base_url}/console#/intents/${encodeURIComponent(uid)}`);
  for (const [name, value] of Object.entries(values)) await to.getByLabel(name).first().fill(value);
  await to.getByRole('button', { name: 'Run', exact: true }).click();
  const accept = to.getByRole('button', { name: 'Accept' });
  await accept.or(to.locator('.answer')).first().waitFor();
  if (await accept.isVisible()) await accept.click();
  await to.locator('.answer').waitFor();
}

await run(page, 'world.example:get-country:v1', { code: 'JP' });
await page.goto(`${stack.base_url}/console#/?query=what+time+is+it+elsewhere`);
await page.getByText('permitted', { exact: true }).first().waitFor();
await shoot('catalogue');

await page.goto(`${stack.base_url}/console#/services`);
await page.getByRole('button', { name: 'Sign in' }).first().click();
await page.locator('input[name="username"]').fill('admin');
await page.locator('input[type="password"]').fill(stack.admin_password);
await page.locator('button[type="submit"], input[type="submit"]').click();
await page.getByRole('link', { name: 'World facts' }).waitFor();
await page.evaluate('location.hash = "#/import"');
await page.getByLabel('Drop the document here').setInputFiles({
  name: 'orders.json',
  mimeType: 'application/json',
  buffer: Buffer.from(
    JSON.stringify({
      openapi: '3.1.0',
      info: { title: 'Orders', version: '1.0.0' },
      servers: [{ url: 'https://orders.example' }],
      paths: Object.fromEntries(
        ['orders', 'customers', 'invoices'].map((name) => [
          `/${name}`,
          {
            get: { operationId: `list-${name}`, summary: `List the ${name}`, responses: { 200: { description: 'A list' } } },
            head: { summary: `Count the ${name}`, responses: { 200: { description: 'A count' } } },
          },
        ]),
      ),
    }),
  ),
});
await page.getByRole('button', { name: /^Import / }).waitFor();
await page.evaluate('scrollTo(0, 0)');
await shoot('console');

await browser.close();
await stack.stop();
