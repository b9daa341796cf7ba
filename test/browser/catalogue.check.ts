import { afterEach, beforeAll, expect, test } from '@jest/globals';
import type { APIResponse, Page, Route } from 'playwright-core';
import { bodyOf } from '../e2e/api.ts';
import { expectAccessible, expectToFit, given, hostileTexts, openView, settle, startConsole } from './console-page.ts';

/** Right-to-left override, which reverses the text after it unless that is isolated. */
const override = '\u202e';
const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const { api, service, browser } = await startConsole({
  demo: true,
  refusals: '4..',
  answer: {
    text: `${override}${hostileTexts.markup}`,
    rows: [
      { name: 'one', value: 1 },
      { name: hostileTexts.entity, value: 2 },
    ],
    picture,
  },
});

given('the catalogue', () => {
  const { base_url: base } = api.stack;

  beforeAll(async () => {
    const about = { service_name: hostileTexts.markup, service_url: service.url, description: hostileTexts.long };
    const { service_id } = bodyOf(await api.asAdmin('POST', '/api/services', about), 201);
    const text = { type: 'string' };
    const hostile = { ...text, description: hostileTexts.markup };
    const address = {
      required: ['street', 'floor'],
      properties: {
        street: { ...text, description: 'Such as "1 High Street"' },
        floor: { type: 'integer', minimum: 0 },
        door: text,
        zip: text,
      },
    };
    const line = { properties: { article: text, sizes: { type: 'array', items: text } }, required: ['article'] };
    const intents = [
      {
        intent_uid: 'hostile.example:texts:v1',
        intent_name: hostileTexts.markup,
        description: hostileTexts.long,
        input_parameters: [
          { ...hostile, name: hostileTexts.entity, enum: [hostileTexts.markup, hostileTexts.address] },
          { ...hostile, name: '<b>bold</b>' },
        ],
        output_parameters: [{ ...hostile, name: 'text' }],
        tags: [hostileTexts.markup.slice(0, 60)],
      },
      {
        intent_uid: 'forms.example:order:v1',
        intent_name: 'Order',
        input_parameters: [
          { name: 'note', type: 'string', maxLength: 10 },
          { name: 'article', type: 'string', required: true },
          { name: 'colour', type: 'string' },
          { name: 'amount', type: 'integer', required: true },
        ],
      },
      {
        intent_uid: 'forms.example:ship:v1',
        intent_name: 'Ship',
        input_parameters: [
          { name: 'address', type: 'object', required: true, schema: address },
          { name: 'lines', type: 'array', schema: { items: line } },
        ],
      },
    ];
    const create = intents.map((one) => ({ description: 'Does it', output_parameters: [], endpoint: service.url, ...one }));
    bodyOf(await api.asAdmin('POST', `/api/services/${service_id}/changes`, { create }));
  }, 90_000);
  afterEach(async () => {
    for (const page of browser.context.pages()) await page.close();
  });

  const open = (hash?: string) => openView(browser, api, hash);

  const codeOf = (page: Page) => page.getByLabel('code').first();
  const run = (page: Page) => page.getByRole('button', { name: 'Run', exact: true }).click();
  const intentAt = (uid: string) => `#/intents/${encodeURIComponent(uid)}`;

  test('the root redirects browsers to the catalogue', async () => {
    const page = await browser.context.newPage();
    await page.goto(`${base}/`);
    await page.getByRole('heading', { name: 'Explore operations' }).waitFor();
    expect(page.url()).toBe(`${base}/console`);
  });

  test('the page of connections has a link or a line for each MCP host, and the theme is kept', async () => {
    const page = await openView(browser, api, '#/connect');
    const address = `${api.stack.base_url}/mcp`;
    await page.getByText(`claude mcp add --transport http intent-gate ${address}`).waitFor();
    const hrefs = await page
      .getByRole('link', { name: /^Add to / })
      .evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
    expect(hrefs.map((href) => href.slice(0, 20))).toEqual(['cursor://anysphere.c', 'vscode:mcp/install?%']);
    expect(JSON.parse(atob(new URL(hrefs[0] ?? '').searchParams.get('config') ?? ''))).toMatchObject({
      url: expect.stringContaining(address),
    });
    await expectAccessible(page);
    await page.getByText('Options').click();
    await page.getByLabel('Theme').selectOption('dark');
    await page.reload();
    await page.getByRole('heading', { name: 'Connect' }).waitFor();
    expect(await page.evaluate('getComputedStyle(document.documentElement).colorScheme')).toBe('dark');
    await page.evaluate('localStorage.clear()');
    await page.close();
  });

  test('the catalogue leads from a search to a run, and to the list of calls', async () => {
    const page = await open();
    await page.getByLabel('Search').pressSequentially('describe a country');
    const hit = page.getByRole('link', { name: 'Describe a country' });
    await hit.waitFor();
    await page.waitForURL(/query=describe/);
    await hit.click();
    await page.getByRole('heading', { name: 'Describe a country' }).waitFor();
    await page.getByText('You may execute every intent, at most 60 times a minute.').waitFor();
    await codeOf(page).fill('JP');
    await run(page);
    await page.getByRole('dialog').getByText('Sign this policy').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Accept' }).click();
    await page.locator('.answer').getByText('Japan', { exact: true }).waitFor();
    await page.getByText(/59 of 60 calls are left/).waitFor();
    await page.getByLabel('Status and header fields of the service').getByText('200', { exact: true }).waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Your calls' }).click();
    await page.getByText('answered').waitFor();
    await page.getByRole('link', { name: 'world.example:get-country:v1' }).click();
    expect(await codeOf(page).inputValue()).toBe('JP');
    // the tab remembers that the policy is accepted
    await run(page);
    await page.getByText(/58 of 60 calls are left/).waitFor();
  });

  const executions = '**/api/intents/execute';

  /** Accepts the policy, which the page asks for at the first run in a tab. */
  const accept = (page: Page) => page.getByRole('button', { name: 'Accept' }).click();

  test('a call is made once, however often Enter is pressed while the page still loads what it needs', async () => {
    const page = await open(intentAt('world.example:get-country:v1'));
    await codeOf(page).fill('JP');
    const { promise: pressed, resolve: load } = Promise.withResolvers<void>();
    await page.route('**/*.js', (route) => pressed.then(() => route.continue()));
    await codeOf(page).press('Enter');
    await page.getByRole('button', { name: 'Running …' }).waitFor();
    for (let more = 0; more < 3; more++) await codeOf(page).press('Enter');
    load();
    await accept(page);
    await page.locator('.answer').getByText('Japan', { exact: true }).waitFor();
    expect(browser.requests.filter((url) => url.endsWith('/api/intents/execute'))).toHaveLength(1);
    await page.reload();
    await page.route('**/*.js', (route) => route.abort());
    await run(page);
    await page.getByText('A part of this page could not be loaded, so nothing was sent. Try again.').waitFor();
    expect(browser.complaints.splice(0).join()).toContain('ERR_FAILED');
  });

  test('a call whose answer is lost is not made again, and each call keeps its own execution', async () => {
    const page = await open(intentAt('world.example:get-country:v1'));
    await codeOf(page).fill('JP');
    const made: string[] = [];
    const sent: (string | undefined)[] = [];
    let answer = (route: Route, _: APIResponse): Promise<void> => route.abort();
    await page.route(executions, async (route) => {
      const response = await route.fetch();
      sent.push(route.request().headers()['idempotency-key']);
      made.push(response.headers()['execution-id'] ?? '');
      await answer(route, response);
    });
    await run(page);
    await accept(page);
    await page.getByText('The gate has not answered, but may have done what you asked for. Run it again to get the answer').waitFor();
    expect(browser.complaints.splice(0).join()).toContain('ERR_FAILED');
    await page.getByRole('link', { name: 'Your calls' }).click();
    await page.getByText('not answered', { exact: true }).waitFor();
    await page.goBack();
    // neither a failure before it is sent nor a refusal of the attempt says anything about the call
    await page.route('**/api/pat/issue', (route) => route.abort());
    await page.reload();
    await run(page);
    await page.getByText('The gate does not answer.').waitFor();
    await page.unroute('**/api/pat/issue');
    browser.complaints.splice(0);
    for (const { status, code } of [
      { status: 503, code: 'SERVICE_UNAVAILABLE' },
      { status: 429, code: 'TOO_MANY_REQUESTS' },
    ]) {
      const error = { code, message: `Refused with ${status}.`, details: {}, help_url: base };
      answer = (route) => route.fulfill({ status, json: { error } });
      await run(page);
      await page.getByText(status === 429 ? 'Refused with 429' : 'Refused with 503.').waitFor();
      browser.complaints.splice(0);
    }
    // the page does not send sooner after a 429
    await page.waitForTimeout(300);
    answer = (route, response) => route.fulfill({ response });
    await run(page);
    await page.getByText('This answers your call of').waitFor();
    await page.locator('.answer').getByText('Japan', { exact: true }).waitFor();
    expect(sent).toEqual([expect.stringMatching(/^[\w-]{36}$/), ...Array(3).fill(sent[0])]);
    sent.length = made.length = 0;
    made.push((await page.locator('.outcome code').first().textContent()) ?? '');

    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
    answer = (route, response) => isReleased.then(() => route.fulfill({ response }));
    await run(page);
    await page.getByRole('button', { name: 'Running …' }).waitFor();
    await expect(page.waitForResponse(executions, { timeout: 500 })).rejects.toThrow();
    answer = (route, response) => route.fulfill({ response });
    await page.evaluate(`location.hash = ${JSON.stringify(intentAt('world.example:get-currency:v1'))}`);
    await page.getByRole('heading', { name: 'Describe a currency' }).waitFor();
    await codeOf(page).fill('JPY');
    await run(page);
    await page.locator('.answer').waitFor();
    release();
    await page.getByRole('link', { name: 'Your calls' }).click();
    await page.getByText('answered', { exact: true }).nth(2).waitFor();
    const kept = await page.evaluate('JSON.parse(sessionStorage.calls).map(({ executionId }) => executionId).toReversed()');
    expect(kept).toEqual(made);
    expect(new Set(sent).size).toBe(2);
  });

  test('a denial is the answer to a call whose first answer was lost, so that the next is another call', async () => {
    const page = await open(intentAt('world.example:get-country:v1'));
    await codeOf(page).fill('JP');
    const sent: (string | undefined)[] = [];
    const error = { code: 'FORBIDDEN', message: 'An admin denied this call.', details: { reason: 'denied' }, help_url: base };
    const answers = [(route: Route) => route.abort(), (route: Route) => route.fulfill({ status: 403, json: { error } })];
    await page.route(executions, (route) => {
      sent.push(route.request().headers()['idempotency-key']);
      return (answers.shift() ?? ((last) => last.continue()))(route);
    });
    await run(page);
    await accept(page);
    await page.getByText('The gate has not answered').waitFor();
    await run(page);
    await page.getByText('An admin denied this call.').waitFor();
    await run(page);
    await page.locator('.answer').getByText('Japan', { exact: true }).waitFor();
    const [lost, denied, answered] = sent;
    expect([denied === lost, answered === lost]).toEqual([true, false]);
    browser.complaints.splice(0);
  });

  test('a sample shows the call first, and folds the commands that get a PAT', async () => {
    const page = await open('#/intents/world.example%3Aget-country%3Av1');
    for (const language of ['curl', 'MCP']) {
      await page.getByRole('tab', { name: language }).click();
      const shown = await page.getByRole('region', { name: `${language} code` }).innerText();
      expect(shown).toContain('get-country');
      expect(shown).not.toContain('SIGNATURE');
      const preparation = page.getByRole('region', { name: 'Commands that get a PAT' });
      expect(await preparation.count()).toBe(0);
      await page.getByText('First, get a PAT').click();
      expect(await preparation.innerText()).toMatch(/^BASE_URL=.*SIGNATURE.*"\}"\n$/s);
      await expectAccessible(page);
      await page.getByText('First, get a PAT').click();
    }
    await page.getByRole('tab', { name: 'Python' }).click();
    expect(await page.getByText('First, get a PAT').count()).toBe(0);
  });

  test('the form of an intent shows required fields first, and folds the others', async () => {
    const page = await open(intentAt('forms.example:order:v1'));
    await page.getByText('Optional (2)').waitFor();
    const labels = async () => page.locator('form label').filter({ visible: true }).allInnerTexts();
    const needed = ['article (required)', 'amount (required)'];
    expect(await labels()).toEqual(needed);
    await expectAccessible(page);
    await page.getByText('Optional (2)').press('Enter');
    await page.getByLabel('note').fill('by hand');
    expect(await labels()).toEqual([...needed, 'note', 'colour']);
    await expectAccessible(page);
    await page.getByLabel('note').fill('');
    expect(await labels()).toEqual([...needed, 'note', 'colour']);
  });

  test('the form of an intent unfolds optional fields if one is filled in or invalid, or if there are no others', async () => {
    const filled = await open(`${intentAt('forms.example:order:v1')}?parameters=${encodeURIComponent('{"colour":"red"}')}`);
    await filled.getByLabel('colour').waitFor();
    const page = await open(intentAt('forms.example:order:v1'));
    await page.getByLabel('article').fill('chair');
    await page.getByLabel('amount').fill('1');
    const [summary, note] = [page.getByText('Optional (2)'), page.getByLabel('note')];
    await summary.click();
    await note.fill('longer than it may be');
    await summary.click();
    await note.waitFor({ state: 'hidden' });
    await run(page);
    await page.getByText('Must have at most 10 characters.').waitFor();
    await page.locator('[aria-invalid="true"]:focus').waitFor();
    await expectAccessible(page);
    await page.goto(`${base}/console${intentAt('world.example:find-countries:v1')}`);
    await page.getByLabel('named').waitFor();
  });

  test('the form of an intent has fields for the contents of objects and lists', async () => {
    const page = await open(intentAt('forms.example:ship:v1'));
    await page.getByLabel('street').fill('2 Low Street');
    await page.getByLabel('floor').fill('first');
    await page.getByText('Optional (1)').click();
    await page.getByRole('button', { name: 'Add to lines' }).click();
    await page.getByLabel('article').fill('chair');
    await page.getByText('Optional (1)').nth(1).click();
    await page.getByRole('button', { name: 'Add to sizes' }).click();
    await page.getByRole('textbox', { name: 'sizes 1' }).fill('large');
    await expectAccessible(page);
    await run(page);
    await page.getByText('Must be an integer.').waitFor();
    await page.getByLabel('floor').and(page.locator(':focus')).waitFor();
    await expectAccessible(page);
    await page.getByLabel('floor').fill('1');
    const sent = page.waitForRequest('**/api/intents/execute');
    await run(page);
    await page.getByRole('button', { name: 'Accept' }).click();
    const lines = [{ article: 'chair', sizes: ['large'] }];
    expect((await sent).postDataJSON().parameters).toEqual({ address: { street: '2 Low Street', floor: 1 }, lines });
    await page.getByRole('tab', { name: 'Tree' }).click();
    await page.locator('.tree').getByText('rows:').waitFor();
    await page.getByRole('tab', { name: 'Tree' }).press('ArrowRight');
    await page.getByRole('region', { name: 'The answer as JSON' }).getByText('"rows": [').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Edit as JSON' }).last().click();
    expect(JSON.parse(await page.getByLabel('lines').inputValue())).toEqual(lines);
  });

  test('the form of an intent fills in an example without changing typed values', async () => {
    const page = await open(intentAt('forms.example:ship:v1'));
    await page.getByRole('button', { name: 'Fill in an example' }).click();
    expect(await page.getByLabel('street').inputValue()).toBe('1 High Street');
    expect(await page.getByLabel('floor').inputValue()).toBe('0');
    await page.close();
    const order = await open(intentAt('forms.example:order:v1'));
    await order.getByLabel('article').fill('mine');
    await order.getByRole('button', { name: 'Fill in an example' }).click();
    expect([await order.getByLabel('article').inputValue(), await order.getByLabel('amount').inputValue()]).toEqual(['mine', '1']);
  });

  test('the page of an intent that does not exist refers to the search', async () => {
    const page = await open(intentAt('world.example:none:v1'));
    const failure = page.getByRole('alert').first();
    await failure.waitFor();
    expect(await failure.innerText()).toContain('No intent has this intent_uid. Find one with the search.');
    expect(await failure.getByRole('button').count()).toBe(0);
  });

  test('the catalogue does not sign a policy that is declined', async () => {
    const page = await open(intentAt('world.example:get-country:v1'));
    await codeOf(page).fill('JP');
    await run(page);
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('You have not accepted the policy').waitFor();
    expect(browser.requests.filter((url) => url.endsWith('/api/pat/issue'))).toEqual([]);
  });

  test('the form of an intent shows problems at the fields without sending a request', async () => {
    const page = await open(intentAt('world.example:get-country:v1'));
    await run(page);
    await page.getByText('Is required and must be a string.').waitFor();
    await codeOf(page).fill('japan');
    await run(page);
    await page.getByText(/Must match the pattern/).waitFor();
    expect(await page.evaluate('document.activeElement.labels[0].textContent')).toBe('code (required)');
    await expectAccessible(page);
    expect(browser.requests.filter((url) => url.endsWith('/api/intents/execute'))).toEqual([]);
  });

  test('the form of an intent keeps typed values when the page is reloaded', async () => {
    const page = await open(intentAt('world.example:get-country:v1'));
    await codeOf(page).fill('FR');
    await page.reload();
    expect(await codeOf(page).inputValue()).toBe('FR');
  });

  test('the catalogue shows that the policy prohibits an operation', async () => {
    const page = await open(intentAt('world.example:export-countries:v1'));
    await page.getByText('prohibited').waitFor();
    await page.getByText('You must not execute the intent world.example:export-countries:v1').waitFor();
    expect(await page.getByRole('button', { name: 'Run', exact: true }).isDisabled()).toBe(true);
  });

  test('the catalogue filters by service and tag, and keeps the filters in the URL', async () => {
    const page = await open();
    await page.getByLabel('Service', { exact: true }).selectOption('World facts');
    await page.getByLabel('Tag', { exact: true }).selectOption('countries');
    await page.waitForURL(/tags=countries/);
    await page.getByText('4 operations').waitFor();
    await page.getByLabel('Permitted only').check();
    await page.getByText('3 operations').waitFor();
    expect(await page.getByText('prohibited').count()).toBe(0);
    await page.reload();
    expect(await page.getByRole('button', { name: 'Tag countries: remove' }).getAttribute('aria-pressed')).toBe('true');
    await page.getByLabel('Method').selectOption('DELETE');
    await page.getByText('Nothing found').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Show everything' }).click();
    await page.getByRole('link', { name: 'World facts' }).click();
    await page.getByText('11 operations').waitFor();
  });

  test('the catalogue shows hostile texts as text, and pictures as pictures', async () => {
    const page = await open('#/?query=hostile');
    await page.goto(`${base}/console${intentAt('hostile.example:texts:v1')}`);
    await page.getByRole('heading', { name: hostileTexts.markup }).waitFor();
    await page.getByLabel(hostileTexts.entity).selectOption({ label: hostileTexts.markup });
    await run(page);
    await page.getByRole('button', { name: 'Accept' }).click();
    await page.locator('.answer').getByText(`\\u202e${hostileTexts.markup}`).waitFor();
    expect(await page.locator('.answer table td').allTextContents()).toEqual(['one', '1', hostileTexts.entity, '2']);
    expect(await page.evaluate('document.querySelector(".answer img").naturalWidth')).toBe(1);
    expect(await page.locator('img[src="x"], main script').count()).toBe(0);
    expect(await page.title()).not.toBe('owned');
    await expectAccessible(page);
    await page.setViewportSize({ width: 360, height: 740 });
    await expectToFit(page);
  });

  test('the catalogue can be used with the keyboard alone', async () => {
    const page = await open();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.goto(`${base}/console#/policy`);
    await page.getByRole('heading', { name: 'Usage policy' }).waitFor();
    await page.keyboard.press('/');
    await page.locator('#query:focus').waitFor();
    await page.keyboard.type('time in another place');
    await page.waitForURL(/query=time\+in\+another\+place$/);
    await settle(page);
    const focused = () => page.evaluate('document.activeElement.textContent');
    const hits = await page.locator('.hits h2').allTextContents();
    for (const key of ['ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
    expect(await focused()).toBe(hits[1]);
    for (const key of ['ArrowUp', 'ArrowUp']) await page.keyboard.press(key);
    expect(await page.evaluate('document.activeElement.id')).toBe('query');
    await page.keyboard.press('ArrowDown');
    while ((await focused()) !== 'Tell what time it is in a place') await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Tell what time it is in a place' }).waitFor();
  });
});
