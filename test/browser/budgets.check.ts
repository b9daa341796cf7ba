import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startBrowser } from '../../tools/chromium.ts';
import { bodyOf } from '../e2e/api.ts';
import { expectAccessible, expectToFit, given, openAsAdmin, openView, settle, startConsole, underLoad } from './console-page.ts';

const rightToLeft = 'متجر الكتب الكبير';
const rows = Array.from({ length: 7_000 }, (_, at) => ({ at, name: `${rightToLeft} ${at}`, text: 'x'.repeat(70) }));
const { api, service, browser } = await startConsole({ answer: rows });

const longName = `Long ${'x'.repeat(195)}`;

const nextFrames = 'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve))))';

/** Records layout shifts that no input has caused. */
const observeShifts = `globalThis.shifted = [];
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput, sources } of list.getEntries())
    if (!hadRecentInput) shifted.push(value + ' ' + sources.map(({ node }) => node?.outerHTML?.slice(0, 200)).join(' | '));
}).observe({ type: 'layout-shift', buffered: true });`;

/**
 * Delays the gate's responses so that each arrives after the page has been drawn without it, one at a time.
 * @returns a function that waits until a view has loaded, and returns its layout shifts
 */
async function slowDown(page: Page): Promise<() => Promise<unknown>> {
  let turn: Promise<unknown> = Promise.resolve();
  for (const slow of ['**/api/**', '**/openapi.json'])
    await page.route(slow, (route) => {
      turn = turn
        .then(() => page.evaluate(nextFrames))
        .then(async () => route.fulfill({ response: await route.fetch() }))
        // the page shows another view, or is closed
        .catch(() => {});
      return turn as Promise<void>;
    });
  return async () => {
    for (let done: unknown; done !== turn; await settle(page)) {
      done = turn;
      await turn;
    }
    return page.evaluate(`${nextFrames}.then(() => shifted.splice(0))`);
  };
}

given('the console, empty and with much data', () => {
  const { base_url: base } = api.stack;
  const open = (hash?: string) => openView(browser, api, hash);

  test('the console says how to begin if there are no services', async () => {
    const page = await open();
    await page.getByRole('heading', { name: 'No operations yet' }).waitFor();
    await expectAccessible(page);
    await page.close();
  });

  test('the console loads less than 120 KB before it shows the catalogue', async () => {
    const page = await browser.context.newPage();
    const network = await browser.context.newCDPSession(page);
    const sizes: number[] = [];
    network.on('Network.loadingFinished', ({ encodedDataLength }) => sizes.push(encodedDataLength));
    await network.send('Network.enable');
    await network.send('Network.setCacheDisabled', { cacheDisabled: true });
    await page.goto(`${base}/console`);
    await page.getByRole('heading', { name: 'No operations yet' }).waitFor();
    const bytes = sizes.reduce((sum, one) => sum + one, 0);
    console.log(`first load: ${bytes} bytes in ${sizes.length} responses`);
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(120_000);
    await page.close();
  });

  test('the console says that it needs JavaScript, and links to the OpenAPI document', async () => {
    const plain = await startBrowser({ javaScriptEnabled: false });
    const page = await plain.context.newPage();
    await page.goto(`${base}/console`);
    // Playwright's role and text selectors ignore the contents of <noscript>
    expect(await page.locator('noscript p').innerText()).toContain('This page needs JavaScript.');
    await page.locator('noscript a').first().click();
    expect(page.url()).toBe(`${base}/openapi.json`);
    await plain.close();
  });

  describe('with 300 services and 5,000 operations', () => {
    const serviceCount = 300;

    const intentOf = (host: string, at: number) => ({
      intent_uid: `${host}:operation-${at}:v1`,
      intent_name: `${['List', 'Create', 'Cancel', 'Send'][at % 4]} ${['invoices', 'orders', 'parcels', 'tickets', 'refunds'][at % 5]} of kind ${at}`,
      description: 'Does what its name says.',
      input_parameters: [{ name: 'kind', type: 'string', required: at % 2 === 0 }],
      output_parameters: [],
      endpoint: { url: service.url, method: ['GET', 'POST', 'DELETE', 'PUT'][at % 4] },
      tags: [`kind-${at % 7}`],
    });

    beforeAll(async () => {
      // one after another, because every change appends to the same log
      for (let at = 0; at < serviceCount; at++) {
        const service_name = at === 0 ? longName : at === 1 ? rightToLeft : `Service ${at}`;
        const about = { service_name, service_url: service.url, description: `${service_name} sells things.` };
        const { service_id } = bodyOf(await api.asAdmin('POST', '/api/services', about), 201);
        for (let first = 0; first < (at === 0 ? 3_000 : at <= 20 ? 100 : 0); first += 25) {
          const create = Array.from({ length: 25 }, (_, more) => intentOf(`service-${at}.example`, first + more));
          if (first === 0 && at === 0)
            Object.assign(create[0] ?? {}, { intent_name: longName, intent_uid: 'big.example:list:v1', input_parameters: [] });
          if (first === 0 && at === 1) Object.assign(create[0] ?? {}, { intent_name: rightToLeft, intent_uid: 'rtl.example:list:v1' });
          bodyOf(await api.asAdmin('POST', `/api/services/${service_id}/changes`, { create }));
        }
      }
      // the first search after many writes takes longer
      while ((await api.call('GET', '/api/intents/search?query=orders')).status !== 200);
    }, 300_000);

    const places = ['', '#/?query=create+orders&method=POST', '#/intents/big.example%3Alist%3Av1', '#/calls', '#/policy', '#/reference'];

    test.each(places)('nothing moves while a slow gate answers: %s', async (hash) => {
      const page = await browser.context.newPage();
      await page.addInitScript(observeShifts);
      const listShifts = await slowDown(page);
      await page.goto(`${base}/console${hash}`);
      await page.locator('h1, .skeleton').first().waitFor();
      expect(await listShifts()).toEqual([]);
      await page.close();
    });

    test('nothing moves in admin views while a slow gate answers', async () => {
      const page = await openAsAdmin(browser, api, 'services');
      await page.evaluate(observeShifts);
      const big = (await page.getByRole('link', { name: longName }).getAttribute('href')) ?? '';
      const listShifts = await slowDown(page);
      const tabs = ['usage', 'credential', 'settings', 'history'].map((tab) => `${big}?tab=${tab}`);
      const others = ['overview', 'policy', 'approvals', 'agents', 'usage', 'executions', 'history', 'history/1', 'import', 'services'].map(
        (place) => `#/${place}`,
      );
      const found: Record<string, unknown> = {};
      for (const hash of [big, ...tabs, ...others]) {
        await page.evaluate(`shifted.length = 0; location.hash = ${JSON.stringify(hash)}`);
        await page.evaluate(nextFrames);
        found[hash] = await listShifts();
      }
      await page.close();
      browser.requests.length = browser.complaints.length = 0;
      expect(Object.entries(found).filter(([, shifts]) => String(shifts) !== '')).toEqual([]);
    });

    test('results appear within 150 ms of the last keystroke on an idle machine', async () => {
      const page = await open();
      await page.locator('.hits li').first().waitFor();
      const times: number[] = [];
      const questions = Array(4).fill(['create invoices', 'cancel a parcel', 'refunds kind 12']).flat();
      // one measurement is enough, because other programs on the machine can only slow it down
      while (questions.length > 0 && !(Math.min(...times) < underLoad(150))) {
        const question = questions.shift();
        await page.getByLabel('Search').fill(question.slice(0, -1));
        await page.waitForURL(`**query=${question.slice(0, -1).replaceAll(' ', '+')}`);
        await page.locator('[aria-busy="false"]').waitFor();
        await page.evaluate(`void (globalThis.found = new Promise((resolve) => {
          let since, isBusy = false;
          document.querySelector('#query').addEventListener('input', () => { since = performance.now(); }, { once: true });
          new MutationObserver((_, observer) => {
            if (document.querySelector('[aria-busy="true"]')) isBusy = true;
            else if (isBusy && document.querySelector('.hits a')) { observer.disconnect(); resolve(performance.now() - since); }
          }).observe(document.querySelector('main'), { subtree: true, childList: true, attributes: true });
        }))`);
        await page.keyboard.type(question.slice(-1));
        times.push(await page.evaluate<number>('Promise.race([found, new Promise((resolve) => setTimeout(resolve, 10_000, Infinity))])'));
      }
      console.log(`results after the last keystroke, in ms: ${times.map(Math.round).join(', ')}`);
      expect(Math.min(...times)).toBeLessThan(underLoad(150));
      await page.close();
    }, 120_000);

    test('the console shows a response of a megabyte as table, tree and text', async () => {
      const page = await open(places[2]);
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      await page.getByRole('button', { name: 'Accept' }).click();
      await page.getByRole('button', { name: 'Show 6950 more' }).waitFor();
      await page.getByRole('tab', { name: 'Tree' }).click();
      await page.locator('.tree summary').nth(2).click();
      await page.locator('.tree').getByText(`${rightToLeft} 0"`).waitFor();
      await page.getByRole('tab', { name: 'Raw' }).click();
      await page.getByText(/^The first 100,000 of [\d,]{7,} characters/).waitFor();
      await page.close();
    }, 60_000);

    test('the console fits a phone and a screen, and is accessible, in dark mode', async () => {
      const page = await open();
      await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
      for (const hash of [...places.slice(0, 3), '#/intents/rtl.example%3Alist%3Av1']) {
        await page.goto(`${base}/console${hash}`);
        for (const width of [1440, 390]) {
          await page.setViewportSize({ width, height: 844 });
          await settle(page);
          await expectToFit(page);
        }
        await expectAccessible(page);
      }
      await page.close();
    });

    test('the console shows all 300 services on demand', async () => {
      const page = await open();
      await page.getByRole('button', { name: `Show ${serviceCount - 12} more` }).click();
      expect(await page.locator('.cards li').count()).toBe(serviceCount);
      await page.setViewportSize({ width: 390, height: 844 });
      await expectToFit(page);
      await page.close();
    });
  });
});
