/** `npm run screenshots`: makes the README's pictures from the local stack and the diagram's source. Needs Chromium. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startStack } from '../bin/local/stack.ts';
import { connect } from '../client/connect.ts';
import { chromiumPath, startBrowser } from './chromium.ts';
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

const root = join(import.meta.dirname, '..');
const stack = await startStack({ port: 0, quiet: true });
await fetch(`${stack.base_url}/api/policy/try`, {
  method: 'PUT',
  headers: { Authorization: `Bearer ${stack.admin_token}`, 'Content-Type': 'application/json' },
  body: readFileSync(join(root, 'samples', 'policies', 'burst-and-day.json')),
});
const agent = await connect(stack.base_url, { agentId: 'travel-planner', onPolicy: () => true });
for (const code of ['JP', 'BR', 'FR', 'KE', 'IN', 'PT', 'CA', 'NO', 'EG', 'NZ', 'PE', 'IT', 'GR', 'TH'])
  await agent.execute('world.example:get-country:v1', { code });

const browser = await startBrowser({ viewport: { width: 1200, height: 900 } });
const page = await browser.context.newPage();
page.setDefaultTimeout(120_000);
const go = (hash: string) => page.evaluate(`location.hash = '#/${hash}'`);

async function shoot(name: string): Promise<void> {
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) });
    console.log(`docs/pictures/${name}-${colorScheme}.png`);
  }
}

await page.goto(`${stack.base_url}/console#/?query=what+time+is+it+elsewhere`);
await page.getByText('permitted', { exact: true }).first().waitFor();
await shoot('catalogue');

await go(`intents/${encodeURIComponent('world.example:get-country:v1')}`);
await page.getByLabel('code').first().fill('BR');
await page.getByRole('button', { name: 'Run', exact: true }).click();
await page.getByRole('button', { name: 'Accept' }).click();
await page.locator('.answer').waitFor();
await page.evaluate('scrollTo(0, 0)');
await shoot('operation');

await go('policy');
await page.getByRole('button', { name: 'Sign in' }).first().click();
await page.locator('input[name="username"]').fill('admin');
await page.locator('input[type="password"]').fill(stack.admin_password);
await page.locator('button[type="submit"], input[type="submit"]').click();
// calls are counted from the log, shortly after they end
while (!(await page.getByText('calls would be refused').first().isVisible())) {
  await page.waitForTimeout(1_000);
  await go('policy?period=hour');
  await page.waitForTimeout(1_000);
  await go('policy');
}
await page.evaluate(`[...document.querySelectorAll('h2')].find((one) => one.textContent === 'On trial').scrollIntoView()`);
await shoot('policy');

await go('import');
await page.getByLabel('Drop the document here').setInputFiles(join(root, 'openapi.json'));
await page.getByRole('button', { name: /^Import \d/ }).waitFor();
await page.evaluate('scrollTo(0, 0)');
await shoot('console');

await browser.close();
await stack.stop();
