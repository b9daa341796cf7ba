import { gzipSync } from 'node:zlib';
import { chromiumPath, startBrowser } from '../chromium.ts';
import { startStack } from '../local/stack.ts';

const rounds = 5;

/** `npm run bench -- console`: what the console weighs, and how long somebody who opens it for the first time waits for the first result of a search. */
export async function run(): Promise<void> {
  if (chromiumPath === undefined)
    throw new Error('There is no Chromium. Install it (apt-get install chromium), or set CHROMIUM to its path.');
  const stack = await startStack({ port: 0, quiet: true });
  const browser = await startBrowser();
  try {
    const files = new Map<string, number>();
    const shown: number[] = [];
    const found: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const page = await browser.context.newPage();
      const session = await browser.context.newCDPSession(page);
      await session.send('Network.setCacheDisabled', { cacheDisabled: true });
      page.on('response', async (response) => {
        const { pathname } = new URL(response.url());
        if (pathname === '/console' || pathname.startsWith('/docs/')) files.set(pathname, gzipSync(await response.body()).length);
      });
      const startedMs = performance.now();
      await page.goto(`${stack.base_url}/console`);
      await page.getByLabel('Search').waitFor();
      shown.push(performance.now() - startedMs);
      await page.getByLabel('Search').fill('what time is it elsewhere');
      await page.waitForURL(/query=/);
      await page.getByRole('link', { name: 'Tell the time in another place' }).waitFor();
      found.push(performance.now() - startedMs);
      await page.close();
    }
    const median = (times: number[]) => Math.round(times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0);
    for (const [path, bytes] of files) console.log(`${path.padEnd(40)} ${(bytes / 1000).toFixed(1).padStart(7)} KB compressed`);
    const total = [...files.values()].reduce((sum, bytes) => sum + bytes, 0);
    console.log(`${'all that is loaded at first'.padEnd(40)} ${(total / 1000).toFixed(1).padStart(7)} KB compressed`);
    console.log(
      `the search field is there after ${median(shown)} ms, the first result of a search after ${median(found)} ms (median of ${rounds})`,
    );
  } finally {
    await browser.close();
    await stack.stop();
  }
}
