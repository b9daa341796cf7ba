import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import type { Locator, Page, Route } from 'playwright-core';
import { bodyOf } from '../e2e/api.ts';
import { makeFolder } from '../support/folder.ts';
import { startUpstream } from '../support/upstream.ts';
import { confirmation, expectAccessible, fillIn, given, hostileTexts, startConsole } from './console-page.ts';

const { api, service, browser } = await startConsole({
  demo: true,
  refusals: '40.|502',
  answer: {
    pets: [
      { name: 'Rex', kind: 'dog' },
      { name: 'Tom', kind: 'cat' },
    ],
  },
});

given('the console', () => {
  const { base_url: base, admin_password: password, user_password: userPassword } = api.stack;
  let page: Page;

  beforeAll(async () => {
    page = await browser.context.newPage();
  });

  const document = (paths: object = {}) => ({
    name: 'pets.json',
    mimeType: 'application/json',
    buffer: Buffer.from(
      JSON.stringify({
        openapi: '3.1.0',
        info: { title: 'Pets of the town', version: '1.0.0', description: 'Animals' },
        servers: [{ url: service.url }],
        paths: {
          '/pets': {
            get: {
              operationId: 'listPets',
              summary: 'List the pets',
              parameters: [{ name: 'kind', in: 'query', schema: { type: 'string', pattern: '^[a-z]+$' } }],
              responses: { 200: { description: 'Pets', content: { 'application/json': { schema: { type: 'object' } } } } },
            },
          },
          ...paths,
        },
      }),
    ),
  });

  async function signIn(userName = 'admin', secret = password): Promise<void> {
    await page.getByRole('button', { name: 'Sign in' }).first().click();
    await fillIn(page, userName, secret);
    await page.waitForURL(`${base}/console**`);
  }

  /** Signs in in a separate window, so that the page keeps its state. */
  async function signInAgain(userName = 'admin', secret = password): Promise<void> {
    const opened = browser.context.waitForEvent('page');
    await page.getByRole('button', { name: 'Sign in', exact: true }).last().click();
    const other = await opened;
    const closed = other.waitForEvent('close');
    await fillIn(other, userName, secret);
    await closed;
    // the window closes before the user pool has given the tokens
    await page.getByRole('button', { name: 'Sign in', exact: true }).first().waitFor({ state: 'hidden' });
  }

  /**
   * Ends the session, as if the token had expired: the gate refuses the page's token, and the user pool the refresh token.
   * @param after - number of writes for which the token is still accepted
   */
  async function endSession(after = 0): Promise<void> {
    let left = after;
    let ended: string | undefined;
    const refuse = async (route: Route) => {
      const { authorization } = await route.request().allHeaders();
      if (authorization === undefined) return route.fallback();
      ended ??= authorization;
      if (authorization !== ended || (route.request().method() !== 'GET' && left-- > 0)) return route.fallback();
      const error = { code: 'UNAUTHORIZED', message: 'The admin token does not verify.', details: {}, help_url: base };
      return route.fulfill({ status: 401, json: { error } });
    };
    await page.unroute('**/api/**');
    await page.route('**/api/**', refuse);
    await page.route('**/oauth2/token', (route) =>
      route.request().postData()?.includes('refresh_token') ? route.fulfill({ status: 400, json: {} }) : route.fallback(),
    );
  }

  /** The problems of the field with this label. */
  const problemOf = (label: string) =>
    page
      .locator('.field')
      .filter({ has: page.getByLabel(label) })
      .locator('.problem');

  const openTab = (name: 'Credential' | 'Settings') => page.getByRole('link', { name, exact: true }).click();

  const kept = () => page.evaluate('JSON.stringify([{ ...sessionStorage }, { ...localStorage }])');

  const press = (name: string) => page.getByRole('button', { name, exact: true }).click();

  /** Chooses files to import. */
  const drop = (files: Parameters<Locator['setInputFiles']>[0]) => page.getByLabel('Drop the document here').setInputFiles(files);

  const go = (hash: string) => page.evaluate(`location.hash = ${JSON.stringify(hash)}`);

  test('the console shows admin views only after sign-in, and only to admins', async () => {
    await page.goto(`${base}/console#/services`);
    await page.getByText('Admins only').waitFor();
    expect(browser.requests.filter((url) => url.includes('/api/'))).toEqual([]);
    await signIn('user', userPassword);
    await go('#/agents');
    await page.getByText('does not belong to an admin').waitFor();
    await press('Sign out');
    browser.complaints.length = 0;
  });

  test('the console follows a URL that changes as soon as the page is drawn', async () => {
    const other = await browser.context.newPage();
    await other.addInitScript(`new MutationObserver((_, observer) => {
      if (document.querySelector('header nav a') === null) return;
      observer.disconnect();
      location.hash = '#/policy';
    }).observe(document, { childList: true, subtree: true })`);
    await other.goto(`${base}/console`);
    await other.getByRole('link', { name: 'Policy', exact: true }).and(other.locator('[aria-current="page"]')).waitFor();
    expect(other.url()).toBe(`${base}/console#/policy`);
    await other.close();
  });

  test('the console leads from sign-in to an operation that is imported, found, run and counted', async () => {
    await browser.context.clearCookies();
    await page.goto(`${base}/console#/services`);
    await signIn();
    await page.getByRole('heading', { name: 'Services' }).waitFor();
    await page.getByRole('link', { name: 'World facts' }).waitFor();
    await expectAccessible(page);
    // the list needs no further requests
    expect(browser.requests.filter((url) => /\/api\/services\/./.test(url))).toEqual([]);
    await page.getByRole('link', { name: 'Import a document' }).click();
    await drop(document());
    await page.getByText('1 intent is created').waitFor();
    await expectAccessible(page);
    expect(
      (await api.call('GET', '/api/intents/search?query=pets'))?.body.intents.map((hit: { service_name: string }) => hit.service_name),
    ).not.toContain('Pets of the town');
    await press('Import 1 intent');
    await page.getByRole('heading', { name: '1 created, 0 changed, 0 failed' }).waitFor();
    await page.getByRole('link', { name: 'Explore its operations' }).click();
    await page.getByRole('link', { name: 'List the pets' }).click();
    await page.getByLabel('kind').fill('dog');
    await press('Run');
    await press('Accept');
    await page.getByRole('cell', { name: 'Rex' }).waitFor();
    // usage is counted from the log, a moment later
    while (!JSON.stringify(await api.asAdmin('GET', '/api/stats')).includes('Pets of the town')) await page.waitForTimeout(200);
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('row', { name: /^Pets of the town 1 1 0 0 0 \d+ ms ≤ \d+ ms$/ }).waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'By operation' }).click();
    await page.getByRole('row', { name: /^\S+:v\d+ 1 1 0 0 0 \d+ ms ≤ \d+ ms$/ }).waitFor();
    await page.getByRole('link', { name: 'Last hour' }).click();
    await page.getByRole('link', { name: 'By agent' }).click();
    await page.getByLabel('Service', { exact: true }).selectOption({ label: 'Pets of the town' });
    await page.waitForURL(/#\/usage\?period=hour&by=agent&service_id=\w{26}$/);
    await page.getByRole('row', { name: /^page-\S+ 1 1 0 0 0 \d+ ms ≤ \d+ ms$/ }).waitFor();
    await expectAccessible(page);
    const usage = page.url();

    // a range of days
    const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
    await page.getByLabel('From', { exact: true }).fill(daysAgo(1));
    await page.waitForURL(`**/console#/usage?period=month&by=agent&service_id=*&from=${daysAgo(1)}`);
    await page.getByText('Calls per day').waitFor();
    await page.getByRole('row', { name: /^page-\S+ 1 1 0 0 0 \d+ ms ≤ \d+ ms$/ }).waitFor();
    await expectAccessible(page);
    const saved = page.waitForEvent('download');
    await press('Download as CSV');
    const csv = Buffer.concat(await Array.fromAsync(await (await saved).createReadStream())).toString();
    expect(csv).toMatch(/^from,name,served,refused,failed,executions,.*\n\d{4}-\d\d-\d\dT00:00:00\.000Z,page-[^,]+,1,0,0,1,.*\n$/);
    await page.getByLabel('To', { exact: true }).fill(daysAgo(2));
    await page.getByRole('heading', { name: 'No calls in this period' }).waitFor();
    await expectAccessible(page);
    await page.goto(usage);
    await page.getByRole('link', { name: /^page-/ }).click();
    await page.getByLabel('Reason').waitFor();
  });

  test('the console says that an import changes nothing, or why a file is not a document', async () => {
    await go('#/import');
    await drop(document());
    expect(await page.getByRole('button', { name: 'Nothing to do' }).isDisabled()).toBe(true);
    await drop({ ...document(), buffer: Buffer.from('<html>') });
    await page.getByRole('alert').waitFor();
    await expectAccessible(page);
  });

  test('the console blocks the agent of this page, which can then run nothing', async () => {
    await page.getByRole('link', { name: 'Agents', exact: true }).click();
    await page
      .getByRole('link', { name: /^page-/ })
      .first()
      .click();
    await page.getByLabel('Reason').fill(hostileTexts.markup);
    await press('Block the agent');
    await confirmation(page, 'Block the agent').click();
    await page.getByRole('button', { name: 'Unblock' }).waitFor();
    await page.getByText(hostileTexts.markup).first().waitFor();
    await expectAccessible(page);
    await go('#/intents/world.example%3Aget-country%3Av1');
    await page.getByLabel('code', { exact: false }).first().fill('JP');
    await press('Run');
    await page
      .getByRole('alert')
      .getByText(/blocked/)
      .waitFor();
    await go('#/history');
    await page.getByRole('cell', { name: 'block agent' }).first().waitFor();
    await expectAccessible(page);
    browser.complaints.length = 0;
  });

  test('the console shows problems at their fields, and the changes of somebody else', async () => {
    const shared = { service_name: 'Shared', service_url: 'https://shared.example', description: 'One' };
    const { service_id: id } = bodyOf(await api.asAdmin('POST', '/api/services', shared), 201);
    await go(`#/services/${id}?tab=settings`);
    await page.getByLabel('API URL (required)').fill('no address');
    await press('Save');
    await problemOf('API URL (required)').getByText('Must be').waitFor();
    expect(await page.evaluate('document.activeElement.labels[0].textContent')).toBe('API URL (required)');
    await page.getByLabel('API URL (required)').fill('https://shared.example');
    await page.getByLabel('Description').fill('Mine');
    await api.asAdmin('PUT', `/api/services/${id}`, { ...shared, description: hostileTexts.markup });
    await press('Save');
    await page.getByText('Someone else has changed this since you opened it.').waitFor();
    const row = page.getByRole('row', { name: /\/description/ });
    await row.getByText(hostileTexts.markup.replaceAll('"', '\\"')).waitFor();
    await row.getByText('"Mine"').waitFor();
    await expectAccessible(page);
    await press('Use the current version');
    expect(await page.getByLabel('Description').inputValue()).toBe(hostileTexts.markup);
    await page.getByLabel('Description').fill('Typed, and not saved yet');
    await openTab('Credential');
    const completes = (label: string) => page.getByLabel(label).getAttribute('autocomplete');
    for (const field of ['Header fields', 'Query parameters'])
      expect([await completes(`${field}: name 1`), await completes(`${field}: value 1`)]).toEqual(['off', 'new-password']);
    await page.getByLabel('Header fields: name 1').fill('Host');
    await page.getByLabel('Header fields: value 1').fill('secret-of-the-service');
    await press('Set the credential');
    await problemOf('Header fields: value 1').getByText('Host must not be a header field').waitFor();
    await page.getByLabel('Header fields: name 1').fill('X-Api-Key');
    await page.getByLabel('Query parameters: name 1').fill('tenant');
    await page.getByLabel('Query parameters: value 1').fill('secret-of-the-tenant');
    // typing a name that begins with another one does not change the other's value
    await page.getByLabel('Query parameters: name 2').pressSequentially('tenants');
    expect(await page.getByLabel('Query parameters: value 1').inputValue()).toBe('secret-of-the-tenant');
    await page.getByLabel('Query parameters: name 2').fill('');
    await page.getByText('Rotation and allowed origins').click();
    await page.getByLabel('Allowed origins').fill('http://shared.example');
    await press('Set the credential');
    await problemOf('Allowed origins').getByText('https').waitFor();
    await page.getByLabel('Allowed origins').fill('');
    await expectAccessible(page);

    // when the session ends, nothing typed is lost, and no secret has been stored
    await endSession();
    await press('Set the credential');
    await page.getByRole('alert').getByText('Your session has ended. Nothing is lost: sign in again, then try again.').waitFor();
    await expectAccessible(page);
    expect(await kept()).not.toContain('secret-of');
    await signInAgain();
    await press('Set the credential');
    await page.getByText('Credential set: X-Api-Key, tenant, sent only to https://shared.example').waitFor();
    expect(await page.content()).not.toContain('secret-of');
    expect(await kept()).not.toContain('secret-of');
    for (const field of ['Header fields: value 1', 'Query parameters: value 1']) expect(await page.getByLabel(field).inputValue()).toBe('');

    // setting the credential does not count as somebody else's change of the record
    await openTab('Settings');
    expect(await page.getByLabel('Description').inputValue()).toBe('Typed, and not saved yet');
    // nor does typing while the record is being saved
    await page.route(`**/api/services/${id}`, async (route) => {
      if (route.request().method() === 'PUT') await new Promise((resolve) => setTimeout(resolve, 500));
      await route.fallback();
    });
    const answered = (method: string) => page.waitForResponse((one) => one.url().endsWith(id) && one.request().method() === method);
    const saved = Promise.all([answered('PUT'), answered('GET')]);
    await press('Save');
    await page.getByLabel('Description').fill('Typed while it was being saved');
    await saved;
    expect((await api.call('GET', `/api/services/${id}`))?.body.description).toBe('Typed, and not saved yet');
    await page.getByRole('button', { name: 'Discard changes' }).waitFor();
    expect(await page.getByLabel('Description').inputValue()).toBe('Typed while it was being saved');

    // typed values survive a reload, and do not silently overwrite a change that somebody made meanwhile
    await page.getByLabel('Description').fill('Typed before the reload');
    await api.asAdmin('PUT', `/api/services/${id}`, { ...shared, description: 'Changed during the reload' });
    await page.reload();
    await signIn();
    await page.getByRole('heading', { name: 'Shared' }).waitFor();
    expect(page.url()).toBe(`${base}/console#/services/${id}?tab=settings`);
    expect(await page.getByLabel('Description').inputValue()).toBe('Typed before the reload');
    await press('Save');
    await page
      .getByRole('row', { name: /\/description/ })
      .getByText('"Changed during the reload"')
      .waitFor();
    await press('Use the current version');
    expect(await page.getByRole('button', { name: 'Discard changes' }).count()).toBe(0);
  });

  test('the console shows the saved record until it is read again, without disturbing typing', async () => {
    const saved = { service_name: 'Typed into', service_url: 'https://typed.example', description: 'One' };
    const { service_id: id } = bodyOf(await api.asAdmin('POST', '/api/services', saved), 201);
    await go(`#/services/${id}?tab=settings`);
    await page.getByRole('heading', { name: 'Typed into' }).waitFor();
    const description = page.getByLabel('Description');
    await description.fill('Two');
    const read = Promise.withResolvers<void>();
    await page.route(`**/api/services/${id}`, async (route) => {
      if (route.request().method() === 'GET') await read.promise;
      await route.fallback();
    });
    await press('Save');
    await page.getByText('The service is saved.').first().waitFor();
    await description.press('End');
    await page.keyboard.type(', three');
    const answered = page.waitForResponse((one) => one.url().endsWith(id) && one.request().method() === 'GET');
    read.resolve();
    await answered;
    // wait until the response has been drawn
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 300))');
    await page.keyboard.type(', four');
    expect(await description.inputValue()).toBe('Two, three, four');
    await press('Save');
    await page.getByRole('button', { name: 'Discard changes' }).waitFor({ state: 'detached' });
    expect((await api.call('GET', `/api/services/${id}`))?.body).toMatchObject({ ...saved, description: 'Two, three, four' });
    // a credential that another admin has set meanwhile is a conflict, not a mistake in the form
    await description.fill('Mine');
    await api.asAdmin('PUT', `/api/services/${id}/credential`, { headers: { 'X-Api-Key': 'secret-of-another' } });
    await press('Save');
    await page.getByRole('row', { name: /\/credential/ }).waitFor();
    await press('Overwrite with mine');
    await openTab('Credential');
    await page.getByText('Credential set: X-Api-Key, sent only to https://typed.example').waitFor();
    expect((await api.call('GET', `/api/services/${id}`))?.body.description).toBe('Mine');
  });

  const operations = (count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        `/pets/${index}`,
        { get: { operationId: `readPet${index}`, responses: { 200: { description: 'A pet', content: { 'application/json': {} } } } } },
      ]),
    );

  test('at 1440 pixels the operations of a service have rows of 40 pixels, and nothing is cut', async () => {
    const { services } = bodyOf(await api.asAdmin('GET', '/api/services'));
    const { service_id } = services.find(({ service_name }: { service_name: string }) => service_name === 'World facts');
    await page.setViewportSize({ width: 1440, height: 900 });
    await go(`#/services/${service_id}`);
    await page.getByText('world.example:get-country:v1').waitFor();
    const heights = await page.locator('tbody tr').evaluateAll((all) => all.map((row) => row.getBoundingClientRect().height));
    expect([...new Set(heights.map(Math.round))]).toEqual([40]);
    expect(await page.getByRole('region', { name: 'Operations' }).evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
    await page.setViewportSize({ width: 1280, height: 720 });
  });

  test('the console continues an import after the admin has signed in again', async () => {
    await go('#/import');
    await drop(document(operations(70)));
    await page.getByText('70 intents are created').waitFor();
    // the plan is still there after visiting another view
    await go('#/services');
    await page.getByRole('link', { name: 'World facts' }).waitFor();
    await go('#/import');
    await endSession(1);
    await press('Import 70 intents');
    await page.getByText('Sign in again to continue.').waitFor();
    await expectAccessible(page);
    const done = Number(/(\d+) of 70/.exec((await page.getByText(/Importing, \d+ of 70/).textContent()) ?? '')?.[1]);
    expect(done).toBe(30);
    await signInAgain();
    await page.getByRole('heading', { name: '70 created, 0 changed, 0 failed' }).waitFor();
    expect(
      bodyOf(await api.asAdmin('GET', '/api/changes?kind=intent&page_size=3')).entries.map(
        ({ changes }: { changes: object[] }) => changes.length,
      ),
    ).toEqual([10, 30, 30]);
  }, 60_000);

  test('the console keeps the document when the connection is lost', async () => {
    await drop(document(operations(75)));
    await page.getByText('5 intents are created').waitFor();
    await page.route('**/api/**', (route) => (route.request().method() === 'GET' ? route.fallback() : route.abort()));
    await page.clock.install();
    await press('Import 5 intents');
    await page.clock.runFor(120_000);
    for (let round = 0; round < 20 && (await page.getByText('Nothing is lost').count()) === 0; round++) await page.clock.runFor(10_000);
    await page.getByText('The gate does not answer. Nothing is lost: try again.').waitFor();
    await page.unrouteAll();
    await press('Review what is left');
    await press('Import 5 intents');
    await page.getByRole('heading', { name: '5 created, 0 changed, 0 failed' }).waitFor();
    browser.complaints.length = 0;
  }, 60_000);

  test('the console does not overwrite an intent that somebody has changed since it was compared', async () => {
    const changed = operations(75);
    const [first] = Object.values(changed);
    Object.assign(first?.get ?? {}, { summary: 'What the document says now' });
    await drop(document(changed));
    await page.getByText('1 intent is changed').waitFor();
    const uid = (await page.getByRole('rowheader').locator('small').textContent()) ?? '';
    const body = { ...bodyOf(await api.call('GET', `/api/intents/${encodeURIComponent(uid)}?view=full`)), description: 'By somebody else' };
    expect((await api.asAdmin('PUT', `/api/intents/${encodeURIComponent(uid)}`, body))?.status).toBe(200);
    await press('Import 1 intent');
    await page.getByRole('heading', { name: '0 created, 0 changed, 1 failed' }).waitFor();
    await page.getByText('Failed (1)').click();
    const problem = 'Someone else has changed this intent since it was compared. Read the document again to see the difference.';
    await page.getByRole('cell', { name: problem, exact: true }).waitFor();
    expect(bodyOf(await api.call('GET', `/api/intents/${encodeURIComponent(uid)}`))).toMatchObject({
      intent_name: body.intent_name,
      description: 'By somebody else',
    });
  }, 60_000);

  test('the console does not show one person the import of another', async () => {
    await endSession();
    await go('#/agents');
    await page.getByRole('main').getByText('Your session has ended.').first().waitFor();
    await go('#/import');
    await page.getByRole('button', { name: 'Read pets.json again' }).waitFor();
    await browser.context.clearCookies();
    await signInAgain('user', userPassword);
    await page.getByText('user', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Read pets.json again' }).count()).toBe(0);
    await press('Sign out');
    await browser.context.clearCookies();
    await page.unrouteAll();
    await signIn();
    await page.getByRole('heading', { name: 'Import a document' }).waitFor();
  }, 60_000);

  const file = (name: string, content: string) => ({ name, mimeType: 'application/yaml', buffer: Buffer.from(content) });
  const main = `openapi: 3.1.0
info: { title: In parts, version: 1.0.0, description: Of several files }
servers: [{ url: https://parts.example }]
security: [{ key: [], tenant: [] }]
components:
  securitySchemes: { key: { type: apiKey, in: header, name: X-Key }, tenant: { type: apiKey, in: query, name: tenant } }
paths:
  /parts: { $ref: './paths/parts%20@here.yaml' }
  /others: { get: { summary: List the others, responses: { '200': { description: Others, content: { application/json: {} } } } } }
`;
  const folder = makeFolder();
  const part = `get: { summary: List the parts, responses: { '200': { description: Parts, content: { application/json: {} } } } }
`;

  test('the console lists missing files', async () => {
    await drop(file('openapi.yaml', main));
    await page.getByText('1 intent is created').waitFor();
    await page.getByText('Files are missing.').waitFor();
    await page.getByText('./paths/parts%20@here.yaml', { exact: true }).waitFor();
    await expectAccessible(page);
  });

  test('the console reads a folder, and leads to the credential that the document requires', async () => {
    mkdirSync(join(folder, 'paths'));
    writeFileSync(join(folder, 'openapi.yaml'), main);
    writeFileSync(join(folder, 'paths', 'parts @here.yaml'), part);
    writeFileSync(join(folder, 'README.md'), 'not read');
    await page.getByLabel('Folder of the document').setInputFiles(folder);
    await page.getByText('2 intents are created').waitFor();
    expect(await page.getByText('Files are missing.').count()).toBe(0);
    await press('Import 2 intents');
    await page.getByRole('heading', { name: '2 created, 0 changed, 0 failed' }).waitFor();
    await page.getByRole('link', { name: 'Set its credential' }).click();
    await page.getByRole('heading', { name: 'In parts' }).waitFor();
    await page.getByText('missing', { exact: true }).waitFor();
    expect(await page.getByLabel('Header fields: name 1').inputValue()).toBe('X-Key');
    expect(await page.getByLabel('Query parameters: name 1').inputValue()).toBe('tenant');
    await expectAccessible(page);
  });

  test('the console imports the document at an address, which the gate reads, with paths relative to that address', async () => {
    const answers: Record<string, [status: number, headers: Record<string, string>, body: string]> = {
      '/api.yaml': [200, { 'content-type': 'text/plain' }, main.replace('In parts', 'From afar').replace('https://parts.example', '/v1')],
      '/moved': [301, { location: '/api.yaml' }, ''],
      '/other': [200, { 'content-type': 'application/json' }, '{"status":"ok"}'],
      '/page': [200, { 'content-type': 'text/html' }, '<html>'],
    };
    const host = await startUpstream(({ url = '' }, response) => {
      const [status, headers, body] = answers[url] ?? [404, {}, ''];
      response.writeHead(status, headers).end(body);
    });
    const at = (path: string) => `http://127.0.0.1:${host.port}${path}`;
    const readAddress = async (path: string) => {
      await page.getByLabel('Or the address of a document').fill(at(path));
      await press('Read the address');
    };
    await go('#/import');
    for (const [path, message] of [
      ['/page', 'The address did not give a document (it is a web page).'],
      ['/none', 'The address did not give a document (status 404).'],
      ['/moved', `The address redirects to ${at('/api.yaml')}; give that address if you trust it.`],
      ['/other', 'The address did not give an API document.'],
    ] as const) {
      await readAddress(path);
      await page.getByRole('alert').getByText(message).waitFor();
    }
    await expectAccessible(page);
    await readAddress('/api.yaml');
    await page.getByRole('heading', { name: 'Planned changes to From afar' }).waitFor();
    await page.getByText('Files are missing.').waitFor();
    await page.getByText(`npx intent-gate import ${at('/api.yaml')}`).waitFor({ state: 'attached' });
    await press('Import 1 intent');
    await page.getByRole('heading', { name: 'From afar: 1 created, 0 changed, 0 failed' }).waitFor();
    const { service_id } = bodyOf(await api.call('GET', '/api/services?query=From+afar')).services[0];
    const { intents } = bodyOf(await api.call('GET', `/api/services/${service_id}/description`));
    expect(intents[0].endpoint).toBe(at('/v1/others'));
    await host.stop();
  });

  test('the console asks which of several files is the main document', async () => {
    // other hosts, because a service that is already registered would keep its name
    const named = (title: string, host: string) => main.replace('In parts', title).replace('parts.example', host);
    await go('#/import');
    await drop([
      file('a.yaml', named('The first', 'first.example')),
      file('openapi.yaml', named('The usual', 'usual.example')),
      file('other.yaml', part),
    ]);
    await page.getByRole('heading', { name: 'Planned changes to The usual' }).waitFor();
    await page.getByLabel('Main document').selectOption('a.yaml');
    await page.getByRole('heading', { name: 'Planned changes to The first' }).waitFor();
    await expectAccessible(page);
    await drop([file('b.yaml', part), file('c.yaml', part)]);
    await page.getByRole('alert').getByText('None of the 2 JSON and YAML files is an OpenAPI or Swagger document').waitFor();
  });

  test('the console marks drafts and deprecated intents, and folds the records of a log entry', async () => {
    const about = { service_name: 'Marked', service_url: 'https://marked.example', description: 'Marks' };
    const { service_id: id } = bodyOf(await api.asAdmin('POST', '/api/services', about), 201);
    const intent = { description: 'Marked', input_parameters: [], output_parameters: [], endpoint: 'https://marked.example/one' };
    const uids = ['draft', 'deprecated'].map((mark) => `marked.example:${mark}:v1`);
    const create = ['draft', 'deprecated'].map((mark, at) => ({
      ...intent,
      intent_uid: uids[at],
      intent_name: `One ${mark}`,
      [mark]: true,
    }));
    bodyOf(await api.asAdmin('POST', `/api/services/${id}/changes`, { create }));
    await go(`#/services/${id}`);
    for (const mark of ['draft', 'deprecated']) {
      const marked = page.getByRole('row').filter({ hasText: `One ${mark}` });
      await marked.locator('.badge').getByText(mark, { exact: true }).waitFor();
    }
    const { entries, head } = bodyOf(await api.asAdmin('GET', `/api/changes?id=${uids[0]}`));
    await go(`#/history?id=${encodeURIComponent(uids[0] ?? '')}`);
    const row = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: String(entries[0].seq), exact: true }) });
    await row.getByRole('cell', { name: 'create 2 intents', exact: true }).waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    expect(await row.getByRole('listitem').count()).toBe(0);
    await row.getByText('2 records').click();
    expect(await row.getByRole('listitem').allTextContents()).toEqual(uids.map((uid) => `create ${uid}`));
    await page.getByText(`Latest entry: ${head.seq} · ${head.digest}`).waitFor();
    await expectAccessible(page);
  });

  test('the console shows older entries page by page, and begins again with another filter', async () => {
    await go('#/history?page_size=2');
    await page.getByRole('rowheader').nth(1).waitFor();
    const numbers = () => page.getByRole('rowheader').allTextContents();
    const [newest = 0, second] = (await numbers()).map(Number);
    expect(second).toBe(newest - 1);
    await page.getByRole('link', { name: 'Older' }).click();
    // the entries of an import share a row
    await page.getByRole('rowheader', { name: new RegExp(`^(\\d+ to )?${newest - 2}$`) }).waitFor();
    expect((await numbers()).join(' to ')).toMatch(new RegExp(`^${newest - 3} to ${newest - 2}$|^${newest - 2} to ${newest - 3}$`));
    expect(page.url()).toContain(`before=${newest - 1}`);
    await page.getByLabel('Kind').selectOption('intent');
    await page.getByRole('rowheader', { name: String(newest), exact: true }).waitFor();
    expect(page.url()).not.toContain('before');
    await page.getByLabel('Record').fill('nothing of this name');
    await page.getByLabel('Record').blur();
    await page.getByText('No entries match.').waitFor();
    await expectAccessible(page);
    await go('#/history?kind=intent');
    await page.getByRole('rowheader', { name: String(newest), exact: true }).waitFor();
    const saved = page.waitForEvent('download');
    await press('Download as CSV');
    const csv = Buffer.concat(await Array.fromAsync(await (await saved).createReadStream())).toString();
    // all pages of the filter
    const { entries } = bodyOf(await api.asAdmin('GET', '/api/changes?kind=intent&page_size=100'));
    expect(csv.trimEnd().split('\n')).toHaveLength(1 + entries.length);
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    await page.getByLabel('Since').fill(tomorrow);
    await page.waitForURL(`**since=${tomorrow}T00%3A00%3A00Z`);
    await page.getByText('No entries match.').waitFor();
  });

  test('the console says what to do if the browser blocks the sign-in window, and returns to the same place', async () => {
    await go('#/history?kind=service');
    await page.getByRole('cell', { name: 'create service' }).first().waitFor();
    await endSession();
    await go('#/services/new');
    await page.getByLabel('Name (required)').fill('Typed without a window');
    await page.getByLabel('API URL (required)').fill('https://window.example');
    await page.getByLabel('Description').fill('Something');
    await press('Save');
    await page.getByRole('alert').getByText('Nothing is lost: sign in again, then try again.').waitFor();
    await page.evaluate('window.open = () => null');
    await page.getByRole('button', { name: 'Sign in', exact: true }).first().click();
    await page.getByText('The browser has blocked the sign-in window.').waitFor();
    await expectAccessible(page);
    await page.unrouteAll();
    await press('Sign in here');
    await fillIn(page, 'admin', password);
    await page.waitForURL(`${base}/console#/services/new`);
    expect(await page.getByLabel('Name (required)').inputValue()).toBe('Typed without a window');
    await press('Discard changes');
    await go('#/history?kind=service');
    await page.reload();
    await signIn();
    await page.getByRole('cell', { name: 'create service' }).first().waitFor();
    expect(page.url()).toBe(`${base}/console#/history?kind=service`);
  }, 60_000);

  test('the console refuses a code that it has not requested', async () => {
    const other = await browser.context.newPage();
    await other.goto(`${base}/console?code=code&state=state#/services`);
    await other.getByText('the sign-in was not started in this tab').waitFor();
    expect(other.url()).not.toContain('code');
    await other.close();
  });

  test('the console shows warnings about a saved credential', async () => {
    const isShort = page.getByText(/^The value of the header X-Api-Key has fewer than 8 characters/);
    await go('#/services/new');
    await page.getByLabel('Name (required)').fill('Warned');
    await page.getByLabel('API URL (required)').fill('https://warned.example');
    await page.getByLabel('Description').fill('Gets a short credential');
    await press('Save');
    await page.getByRole('heading', { name: 'Warned' }).waitFor();
    await openTab('Credential');
    await page.getByLabel('Header fields: name 1').fill('X-Api-Key');
    await page.getByLabel('Header fields: value 1').fill('short');
    await press('Set the credential');
    await isShort.waitFor();
    await expectAccessible(page);
    await page.getByLabel('Header fields: value 1').fill('long-enough-to-hide');
    await press('Set the credential');
    await isShort.waitFor({ state: 'detached' });
    await page.getByLabel('Kind').selectOption({ label: 'Name and password (Basic)' });
    await page.getByLabel('Name (required)').first().fill('somebody');
    await page.getByLabel('Password (required)').fill('long-enough-to-hide');
    await press('Set the credential');
    await page.getByText('Credential set: Authorization, sent only to https://warned.example').waitFor();
    expect(await page.getByLabel('Password (required)').inputValue()).toBe('');
  });

  test('the console pauses a service and shows that on its intents', async () => {
    await go('#/services');
    await page.getByRole('link', { name: 'World facts' }).click();
    await openTab('Settings');
    await press('Pause');
    await confirmation(page, 'Pause').click();
    await page.getByRole('button', { name: 'Resume', exact: true }).waitFor();
    await expectAccessible(page);
    await go('#/services');
    await page.getByRole('rowheader', { name: 'World facts paused' }).waitFor();
    await expectAccessible(page);
    await go('#/intents/world.example%3Aget-country%3Av1');
    await page.getByText('paused', { exact: true }).waitFor();
  });

  test('the console recognises a change whose answer was lost, and makes none twice', async () => {
    const about = { service_name: 'Lost', service_url: 'https://lost.example', description: 'One' };
    const { service_id: id } = bodyOf(await api.asAdmin('POST', '/api/services', about), 201);
    const sent: string[] = [];
    let answer = async (route: Route): Promise<unknown> => route.fetch().then(() => route.abort());
    await page.route(`**/api/services/${id}`, (route) => {
      const method = route.request().method();
      if (method === 'GET') return route.fallback();
      sent.push(method);
      return answer(route);
    });
    await go(`#/services/${id}?tab=settings`);
    await page.getByLabel('Description').fill('Two');
    await press('Save');
    const unanswered = 'The gate has not answered, but may have done what you asked for. Reload the page before you make the change again.';
    await page.getByText(unanswered).waitFor();
    expect(browser.complaints.splice(0).join()).toContain('ERR_FAILED');
    const { promise: isTyped, resolve: answerNow } = Promise.withResolvers<void>();
    answer = (route) => isTyped.then(() => route.continue());
    await press('Save');
    await page.getByRole('button', { name: 'Saving …' }).waitFor();
    // what is typed while the change is recognised is kept
    await page.getByLabel('Description').fill('Three');
    answerNow();
    await page.getByText('The service is saved.').or(page.getByText('Someone else has changed this')).waitFor();
    expect(await page.getByText('Someone else has changed this').count()).toBe(0);
    expect(await page.getByLabel('Description').inputValue()).toBe('Three');
    await press('Discard changes');

    // the question stays until the answer is known
    sent.length = 0;
    const { promise: isRefused, resolve: refuse } = Promise.withResolvers<void>();
    const error = { code: 'CONFLICT', message: 'It is in use.', details: {}, help_url: base };
    answer = (route) => isRefused.then(() => route.fulfill({ status: 409, json: { error } }));
    await press('Delete the service');
    await confirmation(page, 'Delete the service').click();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    expect(await confirmation(page, 'Cancel').isDisabled()).toBe(true);
    refuse();
    await page.getByRole('dialog').getByText('It is in use.').waitFor();
    await confirmation(page, 'Cancel').click();
    expect(sent).toEqual(['DELETE']);

    sent.length = 0;
    const { promise: isPaused, resolve: pause } = Promise.withResolvers<void>();
    answer = (route) => isPaused.then(() => route.continue());
    await press('Pause');
    await confirmation(page, 'Pause').dblclick();
    pause();
    await page.getByRole('button', { name: 'Resume', exact: true }).waitFor();
    expect(sent).toEqual(['PUT']);
    await page.unroute(`**/api/services/${id}`);
  });

  test('a question can be closed when the session ends while its action runs, which goes on after a new sign-in', async () => {
    const about = { service_name: 'Undone', service_url: 'https://undone.example', description: 'One' };
    const { service_id: id } = bodyOf(await api.asAdmin('POST', '/api/services', about), 201);
    bodyOf(await api.asAdmin('PUT', `/api/services/${id}`, { ...about, description: 'Two' }));
    const { entries } = bodyOf(await api.asAdmin('GET', `/api/changes?id=${id}`));
    await go(`#/history/${entries[0].seq}`);
    await page.getByText('Two', { exact: true }).waitFor();
    await endSession();
    await press('Undo this change');
    await confirmation(page, 'Undo this change').click();
    await confirmation(page, 'Cancel').click();
    await signInAgain();
    await page.getByText('Undone: the change.').waitFor();
    await page.unrouteAll();
    expect(bodyOf(await api.asAdmin('GET', `/api/services/${id}`)).description).toBe('One');
  }, 60_000);

  test('the console edits an intent', async () => {
    await go('#/intents/world.example%3Aget-currency%3Av1');
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('Name (required)').fill('Describe money');
    await page.getByLabel('Input parameters').fill('[{"name": 1}]');
    await press('Save');
    await problemOf('Input parameters')
      .getByText(/0\/name must be/i)
      .waitFor();
    await page.getByLabel('Input parameters').fill('[{"name": "code", "type": "string", "required": true}]');
    await page.getByLabel('Deprecated').check();
    await press('Save');
    await page.getByRole('heading', { name: 'Describe money' }).waitFor();
    await page.getByText('deprecated', { exact: true }).waitFor();
  });

  test('the console shows what a policy file would change', async () => {
    await go('#/policy');
    const policy = JSON.stringify((await api.call('GET', '/api/policy'))?.body).replace('"rightOperand":60', '"rightOperand":30');
    const file = { name: 'policy.json', mimeType: 'application/json', buffer: Buffer.from(policy) };
    await page.getByLabel('Load a policy file').setInputFiles(file);
    await page.getByText('Added: You may execute every intent, at most 30 times a minute.').waitFor();
    await expectAccessible(page);
  });
});
