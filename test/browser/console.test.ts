import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { type Browser, chromiumPath, startBrowser } from '../../bin/chromium.ts';
import { bodyOf, startApi } from '../e2e/api.ts';
import { expectAccessible, expectToFit, hostileTexts, startService } from './console-page.ts';

const given = chromiumPath === undefined ? describe.skip : describe;
const api = chromiumPath === undefined ? undefined : await startApi({ demo: true });

given('the console', () => {
  const { base_url: base = '', admin_password: password = '', user_password: userPassword = '' } = api?.stack ?? {};
  let browser: Browser;
  let service: Awaited<ReturnType<typeof startService>>;
  let page: Page;

  beforeAll(async () => {
    browser = await startBrowser();
    service = await startService({
      pets: [
        { name: 'Rex', kind: 'dog' },
        { name: 'Tom', kind: 'cat' },
      ],
    });
    page = await browser.context.newPage();
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    await Promise.all([api?.stop(), service?.stop()]);
  });
  afterEach(() => {
    // the stand-in for the user pool has no icon; a refusal that is expected is noted as such by the browser
    const expected = /favicon|the server responded with a status of (404|409|400)/;
    expect(browser.complaints.splice(0).filter((text) => !expected.test(text))).toEqual([]);
    const isOwn = (url: string) => url.startsWith(`${base}/`) || /^http:\/\/127\.0\.0\.1:\d+\/(oauth2|login|favicon)/.test(url);
    expect(browser.requests.splice(0).filter((url) => !isOwn(url))).toEqual([]);
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
    await page.waitForURL(/oauth2|login/);
    await page.locator('input[name="username"]').fill(userName);
    await page.locator('input[type="password"]').fill(secret);
    await page.locator('button[type="submit"], input[type="submit"]').click();
    await page.waitForURL(`${base}/console**`);
  }

  const go = (hash: string) => page.evaluate(`location.hash = ${JSON.stringify(hash)}`);

  test('nothing for admins is shown before somebody signs in, and nobody but an admin may', async () => {
    await page.goto(`${base}/console#/services`);
    await page.getByText('This is for admins').waitFor();
    expect(browser.requests.filter((url) => url.includes('/api/'))).toEqual([]);
    await signIn('user', userPassword);
    await go('#/agents');
    await page.getByText('it is not an admin').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    browser.complaints.length = 0;
  });

  test('leads from signing in to a document that is imported, found, run and counted', async () => {
    await browser.context.clearCookies();
    await page.goto(`${base}/console#/services`);
    await signIn();
    await page.getByRole('heading', { name: 'Services' }).waitFor();
    await page.getByRole('link', { name: 'World facts' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Import a document' }).click();
    await page.getByLabel('Drop the document here').setInputFiles(document());
    await page.getByText('1 intents are created').waitFor();
    await expectAccessible(page);
    expect(
      (await api?.call('GET', '/api/intents/search?query=pets'))?.body.intents.map((hit: { service_name: string }) => hit.service_name),
    ).not.toContain('Pets of the town');
    await page.getByRole('button', { name: 'Import 1 intents' }).click();
    await page.getByRole('heading', { name: '1 created, 0 changed, 0 failed' }).waitFor();
    await page.getByRole('link', { name: 'See what can be done now' }).click();
    await page.getByRole('link', { name: 'List the pets' }).click();
    await page.getByLabel('kind').fill('dog');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('button', { name: 'Accept and run' }).click();
    await page.getByRole('cell', { name: 'Rex' }).waitFor();
    await page.getByRole('link', { name: 'Numbers' }).click();
    await page.getByRole('heading', { name: 'Pets of the town' }).waitFor();
    await page.getByText('1 executed or refused, 0 upstream failures').waitFor();
    await expectAccessible(page);
  });

  test('imports the document again without doing anything', async () => {
    await go('#/import');
    await page.getByLabel('Drop the document here').setInputFiles(document());
    expect(await page.getByRole('button', { name: 'Nothing to do' }).isDisabled()).toBe(true);
  });

  test('says why a file is no document', async () => {
    await page.getByLabel('Drop the document here').setInputFiles({ ...document(), buffer: Buffer.from('<html>') });
    await page.getByRole('alert').waitFor();
    await expectAccessible(page);
  });

  test('blocks the agent of this page, which can run nothing afterwards', async () => {
    await page.getByRole('link', { name: 'Agents', exact: true }).click();
    await page
      .getByRole('link', { name: /^page-/ })
      .first()
      .click();
    await page.getByLabel('Reason').fill(hostileTexts.markup);
    await page.getByRole('button', { name: 'Block the agent' }).click();
    await page.getByRole('button', { name: 'Yes' }).click();
    await page.getByRole('button', { name: 'Lift the block' }).waitFor();
    await page.getByText(hostileTexts.markup).first().waitFor();
    await expectAccessible(page);
    await go('#/intents/world.example%3Aget-country%3Av1');
    await page.getByLabel('code', { exact: false }).first().fill('JP');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page
      .getByRole('alert')
      .getByText(/blocked/)
      .waitFor();
    await go('#/history');
    await page.getByRole('cell', { name: 'block agent' }).first().waitFor();
    await expectAccessible(page);
    browser.complaints.length = 0;
  });

  test('shows what is refused at its field, and what somebody else has changed', async () => {
    const shared = { service_name: 'Shared', service_url: 'https://shared.example', description: 'One' };
    const created = await api?.asAdmin('POST', '/api/services', shared);
    const { service_id: id } = created && bodyOf(created, 201);
    await go(`#/services/${id}`);
    await page.getByLabel('Address (required)').fill('no address');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.locator('#field-service_url-problems').getByText('Must be').waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('field-service_url');
    await page.getByLabel('Address (required)').fill('https://shared.example');
    await page.getByLabel('Description').fill('Mine');
    await api?.asAdmin('PUT', `/api/services/${id}`, { ...shared, description: hostileTexts.markup });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Somebody else has changed this since you opened it.').waitFor();
    const row = page.getByRole('row', { name: /\/description/ });
    await row.getByText(hostileTexts.markup.replaceAll('"', '\\"')).waitFor();
    await row.getByText('"Mine"').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Take what it is now' }).click();
    expect(await page.getByLabel('Description').inputValue()).toBe(hostileTexts.markup);
    await page.getByLabel('Description').fill('Mine');
    await api?.asAdmin('PUT', `/api/services/${id}`, {
      ...shared,
      description: 'Changed again',
      policy_url: 'https://shared.example/policy',
    });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page
      .getByRole('row', { name: /\/description/ })
      .getByText('"Changed again"')
      .waitFor();
    await page.getByRole('button', { name: 'Save mine over it' }).click();
    await page.getByText('Saved.').waitFor();
    expect((await api?.call('GET', `/api/services/${id}`))?.body.description).toBe('Mine');
    await page.getByLabel('Header field', { exact: true }).fill('X-Api-Key');
    await page.getByLabel('Its value').fill('secret-of-the-service');
    await page.getByRole('button', { name: 'Set the credential' }).click();
    await page.getByText('X-Api-Key, sent to https://shared.example only.').waitFor();
    expect(await page.content()).not.toContain('secret-of-the-service');
  });

  test('keeps what was typed while a sign-in has ended, and a connection is lost', async () => {
    await go('#/services/new');
    await page.getByLabel('Name (required)').fill('Kept');
    await page.getByLabel('Address (required)').fill('https://kept.example');
    await page.getByLabel('Description').fill('Typed before the sign-in ended');
    await browser.context.setOffline(true);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('The gate does not answer. Nothing is lost: try again.').waitFor();
    await browser.context.setOffline(false);
    await page.reload();
    browser.complaints.length = 0;
    await signIn();
    await page.getByRole('heading', { name: 'Register a service' }).waitFor();
    expect(await page.getByLabel('Description').inputValue()).toBe('Typed before the sign-in ended');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'Kept' }).waitFor();
  });

  test('edits an intent', async () => {
    await go('#/intents/world.example%3Aget-currency%3Av1');
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('Name (required)').fill('Describe money');
    await page.getByLabel('What it takes').fill('[{"name": 1}]');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page
      .locator('#field-input_parameters-problems')
      .getByText(/0\/name must be/i)
      .waitFor();
    await page.getByLabel('What it takes').fill('[{"name": "code", "type": "string", "required": true}]');
    await page.getByLabel('Deprecated').check();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'Describe money' }).waitFor();
    await page.getByText('deprecated', { exact: true }).waitFor();
  });

  test('says what a policy file would change', async () => {
    await go('#/policy');
    const policy = JSON.stringify((await api?.call('GET', '/api/policy'))?.body).replace('"rightOperand":60', '"rightOperand":30');
    await page.getByLabel('Policy file').setInputFiles({ name: 'policy.json', mimeType: 'application/json', buffer: Buffer.from(policy) });
    await page.getByText('New: You may execute every intent, at most 30 times a minute.').waitFor();
  });

  test('fits a phone, in the dark', async () => {
    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    await page.setViewportSize({ width: 360, height: 740 });
    for (const hash of ['#/services', '#/services/new', '#/import', '#/agents', '#/history', '#/numbers?period=month']) {
      await go(hash);
      await page.waitForLoadState('networkidle');
      await expectToFit(page);
      await expectAccessible(page);
    }
  });
});
