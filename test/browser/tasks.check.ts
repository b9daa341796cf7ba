import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import type { RecordedExecution } from '../../schemas/executions.ts';
import { bodyOf } from '../e2e/api.ts';
import { startIssuer } from '../support/connections/issuer.ts';
import { startMcpServer } from '../support/mcp-upstreams/server.ts';
import { sequenceReceipts } from '../support/receipts/sequence.ts';
import { intentOf } from '../support/records.ts';
import {
  confirmation,
  expectAccessible,
  expectToFit,
  fillIn,
  given,
  openAsAdmin,
  settle,
  startConsole,
  underLoad,
} from './console-page.ts';

/** Folder for a screenshot of the end of each task. */
const pictures = process.env.CONSOLE_PICTURES ?? join(tmpdir(), 'console-tasks');
mkdirSync(pictures, { recursive: true });
const trial = JSON.stringify({ permission: [{ target: '{base_url}/api/intents?namespace=world.example', action: 'execute' }] });
const nextFile = { name: 'next.json', mimeType: 'application/json', buffer: Buffer.from(trial) };

const policyFile = 'samples/policies/large-refunds-need-a-person.json';
const issuer = await startIssuer();
const mcpServer = await startMcpServer({
  kind: 'sessions',
  tools: [
    {
      name: 'translate_text',
      description: 'Translates a text.',
      inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    },
  ],
});
afterAll(() => Promise.all([issuer.stop(), mcpServer.stop()]));
const { api, service, browser } = await startConsole({
  demo: true,
  otherUrl: issuer.origin,
  policyFile,
  answer: { refunded: true },
  refusals: '404|422|502',
  viewport: { width: 1440, height: 900 },
});

given('tasks in the console', () => {
  const refund = 'payments.example:refund:v1';
  let page: Page;
  /** on which a task ends */
  let shown: Page;
  let clicks = 0;

  beforeAll(async () => {
    const about = { service_name: 'Payments', service_url: service.url, description: 'Pays people back.' };
    const { service_id } = bodyOf(await api.asAdmin('POST', '/api/services', about), 201);
    const intent = intentOf(refund, {
      intent_name: 'Refund a payment',
      endpoint: { url: service.url, method: 'POST', content_type: 'application/json' },
      input_parameters: [{ name: 'amount', type: 'number', required: true }],
    });
    await api.asAdmin('POST', `/api/services/${service_id}/intents`, intent);
    await api.asAdmin('PUT', `/api/services/${service_id}`, { ...about, description: 'Pays people back, but slowly.' });
    bodyOf(await api.asAdmin('PUT', '/api/policy/try', trial));
    const pat = await api.obtainPat('busy-agent');
    for (const answer of await Promise.all(Array.from({ length: 12 }, (_, at) => api.execute(pat, refund, { amount: at })))) bodyOf(answer);
    await api.execute(pat, refund, { amount: 900 }, { 'Idempotency-Key': 'waits' });
    while (!JSON.stringify(await api.asAdmin('GET', '/api/stats')).includes('"executions":1'));
    page = await openAsAdmin(browser, api, 'services');
  }, 120_000);

  const click = async (target: Locator) => {
    await target.first().click();
    clicks++;
  };
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
  const link = (name: string | RegExp) => page.getByRole('link', { name, exact: true });
  const choose = async (label: string, file: typeof nextFile) => {
    await page.getByLabel(label).setInputFiles(file);
    clicks++;
  };
  const search = async (text: string) => {
    await page.keyboard.press('/');
    await page.keyboard.type(text);
    await page.waitForURL(/query=/);
    await page.locator('[aria-busy="false"]').waitFor();
  };
  const document = {
    openapi: '3.1.0',
    info: { title: 'Parcels', version: '1.0.0', description: 'Follows parcels.' },
    servers: [{ url: 'https://parcels.example' }],
    security: [{ key: [] }],
    components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Api-Key' } } },
    paths: Object.fromEntries(
      ['parcels', 'senders', 'receivers'].map((name) => [
        `/${name}`,
        { get: { operationId: `list-${name}`, summary: `List the ${name}`, responses: { 200: { description: 'A list' } } } },
      ]),
    ),
  };

  const isDeferred = ({ is_deferred }: RecordedExecution) => is_deferred;

  /** Registers a service that is called with each person's own token. @returns its id */
  async function registerCalendar(): Promise<string> {
    const about = { service_name: 'Calendar', service_url: service.url, description: 'Has dates.' };
    const { service_id } = bodyOf(await api.asAdmin('POST', '/api/services', about), 201);
    const oauth = { issuer: issuer.issuer, client_id: 'gate', client_secret: issuer.clientSecret, grant: 'person', scopes: ['dates'] };
    bodyOf(await api.asAdmin('PUT', `/api/services/${service_id}/credential`, { oauth }));
    return service_id;
  }

  /** Each task begins at the catalogue. Choosing a file counts as a click, typing does not. */
  const tasks: [task: string, clicks: number, play: () => Promise<void>][] = [
    [
      'find and run an operation',
      3,
      async () => {
        await search('describe a country');
        await click(link('Describe a country'));
        await page.getByLabel('code').first().fill('JP');
        await click(button('Run'));
        await click(button('Accept'));
        await page.getByText('Japan').first().waitFor();
      },
    ],
    [
      'see why a call failed',
      2,
      async () => {
        await search('what time is it in a place');
        await click(link('Tell what time it is in a place'));
        await page.getByLabel('time_zone').first().fill('Tokyo');
        await click(button('Run'));
        const failure = page.getByRole('alert');
        await failure.getByRole('blockquote').getByText('must be an IANA time zone').waitFor();
        await failure.getByRole('link', { name: /^What \w+ means/ }).waitFor();
        await page.getByText('Correct the parameters, then run it again.').waitFor();
      },
    ],
    [
      'import a document',
      5,
      async () => {
        await click(link('Services'));
        await click(link('Import a document'));
        await choose('Drop the document here', { ...nextFile, buffer: Buffer.from(JSON.stringify(document)) });
        await page.getByLabel('Filter: Created or changed').fill('senders');
        await click(page.getByLabel('Import all 1'));
        await click(button('Import 2 intents'));
        await page.getByRole('heading', { name: '2 created, 0 changed, 0 failed' }).waitFor();
        await page.getByText('credential missing').waitFor();
        const { intents } = bodyOf(await api.call('GET', '/api/intents/search?service_name=Parcels'));
        expect(intents.map(({ intent_name }: { intent_name: string }) => intent_name).sort()).toEqual([
          'List the parcels',
          'List the receivers',
        ]);
      },
    ],
    [
      'set a credential',
      4,
      async () => {
        await click(link('Services'));
        await page.getByRole('row', { name: /^Parcels .*missing/ }).waitFor();
        await click(link('Parcels'));
        await click(link('credential missing'));
        await page.getByLabel('Header fields: name 1').fill('X-Api-Key');
        await page.getByLabel('Header fields: value 1').fill('a-secret-of-parcels');
        await click(button('Set the credential'));
        await page.getByText('sent only to https://parcels.example').waitFor();
        await link('credential missing').waitFor({ state: 'detached' });
      },
    ],
    [
      'find who causes a spike',
      3,
      async () => {
        await click(link('Usage'));
        await click(page.getByRole('main').getByRole('link', { name: 'Payments' }));
        await click(link('busy-agent'));
        await page.getByRole('heading', { name: 'Usage in the last 24 hours' }).waitFor();
        await button('Block the agent').waitFor();
        // a bar leads to the executions of its hour, and the first bar is not empty
        const bars = page.locator('.chart .slot');
        expect(await bars.last().getAttribute('href')).toMatch(/^#\/executions\?from=.*&to=.*&agent=busy-agent$/);
        expect(await bars.count()).toBeLessThan(24 * 2);
      },
    ],
    [
      'hear of a waiting call and decide it',
      3,
      async () => {
        await page.waitForFunction("document.title === '(1) Catalogue – Intent Gate'");
        await click(link('Approvals 1'));
        await click(button('Approve Refund a payment for busy-agent'));
        await page.getByRole('dialog').getByText('"amount": 900').waitFor();
        await click(confirmation(page, 'Approve'));
        await page.getByText('admin approved this call').waitFor();
        await link('Approvals').waitFor();
        // before a later task blocks its agent
        const from = new Date(Date.now() - 3_600_000).toISOString();
        const readDeferred = async () => bodyOf(await api.asAdmin('GET', `/api/executions?from=${from}`)).executions.find(isDeferred);
        let deferred = await readDeferred();
        while (deferred === undefined) deferred = await readDeferred();
        expect(deferred.sent).toBe(true);
      },
    ],
    [
      'find an execution by its id',
      1,
      async () => {
        const { executions } = bodyOf(await api.asAdmin('GET', `/api/executions?from=${new Date(Date.now() - 3_600_000).toISOString()}`));
        const id: string = executions.find(({ agent_id }: RecordedExecution) => agent_id === 'busy-agent').execution_id;
        await click(link('Executions'));
        await page.getByLabel('Find by id').fill(id.toLowerCase());
        await page.keyboard.press('Enter');
        await page
          .getByRole('dialog', { name: `Execution ${id}` })
          .getByText('busy-agent')
          .waitFor();
        await page.getByRole('dialog').getByText(refund).first().waitFor();
      },
    ],
    [
      'block an agent',
      4,
      async () => {
        await click(link('Agents'));
        await click(link('busy-agent'));
        expect(await button('Block the agent').isDisabled()).toBe(true);
        await page.getByLabel('Reason (required)').fill('Too many calls');
        await click(button('Block the agent'));
        await click(confirmation(page, 'Block the agent'));
        await button('Unblock').waitFor();
      },
    ],
    [
      'try a policy',
      3,
      async () => {
        await click(link('Policy'));
        // twelve calls, and the approved one
        const row = page.getByRole('row', { name: /^– No permission names the intent\. 13 calls would be refused/ });
        await row.waitFor();
        await choose('Load a policy file', nextFile);
        await click(button('Try your edits on recent calls'));
        await page.getByRole('heading', { name: 'Your edits, tried on recent calls' }).waitFor();
        await row.waitFor();
        await page.getByRole('row', { name: /^busy-agent payments\.example:refund:v1 would be refused/ }).waitFor();
      },
    ],
    [
      'verify a receipt',
      2,
      async () => {
        await click(link('Receipts'));
        await click(link('world.example:get-country:v1'));
        await page.getByText(/Check again|The receipt is genuine/).waitFor();
        await sequenceReceipts(api.stack);
        if (await button('Check again').isVisible()) await button('Check again').click();
        await page.getByText('The receipt is genuine.').waitFor();
        expect(await page.getByRole('row', { name: /passed$/ }).count()).toBe(5);
      },
    ],
    [
      'undo a change',
      4,
      async () => {
        await click(link('History'));
        await click(page.getByRole('row').filter({ hasText: 'update service' }).getByRole('link'));
        await page.getByText('Pays people back, but slowly.').waitFor();
        await click(button('Undo this change'));
        await click(confirmation(page, 'Undo this change'));
        await page.getByText('Undone: the change.').waitFor();
      },
    ],
    [
      'put an MCP server behind the gate',
      7,
      async () => {
        await click(link('Services'));
        await click(link('Import a document'));
        await page.getByLabel('Or the address of a document').fill(mcpServer.url);
        await click(button('Read the address'));
        await page.getByText('1 intent is created').waitFor();
        await click(button('Import 1 intent'));
        await click(link('Explore its operations'));
        await click(link('Translate text'));
        await page.getByLabel('text').first().fill('Guten Tag');
        await click(button('Run'));
        await page.getByRole('tabpanel').getByText('Guten Tag', { exact: true }).waitFor();
        expect(mcpServer.methods().filter((method) => method === 'tools/call')).toHaveLength(1);
      },
    ],
    [
      'connect a person',
      7,
      async () => {
        const person = await browser.context.newPage();
        await person.goto(`${api.stack.base_url}/connect/${await registerCalendar()}`);
        await fillIn(person, 'user', api.stack.user_password);
        clicks++;
        await person.getByText('Requested access').waitFor();
        await expectAccessible(person);
        await click(person.getByRole('button', { name: 'Connect' }));
        await person.getByRole('heading', { name: 'You are connected to Calendar' }).waitFor();
        await expectAccessible(person);
        await click(person.getByRole('link', { name: 'Your connections' }));
        await click(person.getByRole('button', { name: 'Sign in to see your connections' }));
        await fillIn(person, 'user', api.stack.user_password);
        clicks++;
        await person.getByRole('row', { name: /^Calendar .* dates connected/ }).waitFor();
        await click(person.getByRole('button', { name: 'Disconnect' }));
        await click(confirmation(person, 'Disconnect'));
        await person.getByRole('heading', { name: 'No connections yet' }).waitFor();
        expect(issuer.revoked).toHaveLength(1);
        shown = person;
      },
    ],
  ];

  test.each(tasks)('the task "%s" takes %i clicks', async (task, most, play) => {
    await page.keyboard.press('Escape');
    await page.evaluate('location.hash = "#/"');
    await page.locator('.hits li').first().waitFor();
    clicks = 0;
    shown = page;
    await play();
    await settle(shown);
    await shown.screenshot({ path: join(pictures, `${task.replaceAll(' ', '-')}.png`), fullPage: true });
    expect(clicks).toBe(most);
    await expectAccessible(shown);
    await expectToFit(shown);
    if (shown !== page) await shown.close();
  });

  test('a changed receipt does not verify', async () => {
    const download = page.waitForEvent('download');
    await page.evaluate('location.hash = "#/receipts"');
    await link('world.example:get-country:v1').click();
    await page.getByText('The receipt is genuine.').waitFor();
    await page.getByRole('link', { name: 'Download the receipt' }).click();
    const chunks = await Array.fromAsync(await (await download).createReadStream());
    const text = Buffer.concat(chunks).toString();
    const file = (changed: string) => ({ ...nextFile, buffer: Buffer.from(changed) });
    for (const [changed, problem] of [
      [text.replace('Japan', 'Japon'), 'The bytes of the answer do not match the receipt'],
      [text.replace('"JP', '"FR'), 'The parameters do not match the receipt'],
      [text.replace(/("proof": "[^"]*index )\d+/, '$1077'), 'The proof is not a C2SP tlog-proof.'],
      [text.replace(/("log_key": ")[^"]*/, '$1another+00000000+AQ=='), 'log_key in the file differs from the key that you trust.'],
    ] as const) {
      await page.getByLabel('Drop a receipt here').setInputFiles(file(changed));
      await page.getByText('The receipt is not valid.').waitFor();
      await page.getByText(problem).waitFor();
      await expectAccessible(page);
    }
    await page.getByLabel('Drop a receipt here').setInputFiles(file(text));
    await page.getByText('The receipt is genuine.').waitFor();
    await page.getByText('Use your own key and checkpoint').click();
    await page.getByLabel('Log key').fill('another+00000000+AQ==');
    await page.getByText('log_key in the file differs from the key that you trust.').waitFor();
    await page.getByLabel('Drop a receipt here').setInputFiles(file('{}'));
    await page.getByRole('alert').getByText('The file next.json contains no receipt').waitFor();
  });

  test('a receipt is compared with a checkpoint of a smaller log', async () => {
    const kept = await (await fetch(`${api.stack.base_url}/log/checkpoint`)).text();
    await api.execute(await api.obtainPat('later-agent'), refund, { amount: 1 }, { 'Idempotency-Key': 'later' });
    await sequenceReceipts(api.stack);
    await page.evaluate('location.hash = "#/receipts"');
    await link('world.example:get-country:v1').click();
    await page.getByText('Use your own key and checkpoint').click();
    // a field keeps no line end
    await page.getByLabel('Saved checkpoint').fill(kept.trim());
    await page.getByRole('row', { name: 'checkpoint that was kept passed' }).waitFor();
    const file = await page.getByRole('link', { name: 'Download the receipt' }).getAttribute('href');
    const { consistency } = JSON.parse(decodeURIComponent(String(file).replace('data:application/json,', '')));
    expect(Object.keys(consistency)).toEqual([kept.split('\n')[1]]);
    await page.getByLabel('Saved checkpoint').fill(kept.replace(/\n\d+\n/, '\n1000\n'));
    await page.getByText('The checkpoint is not signed with the key of the log').waitFor();
    await page.getByText('The receipt is not valid.').waitFor();
  });

  test.each(['overview', 'approvals', 'executions', 'services', 'usage', 'history'])(
    'the page %s appears within 300 ms on an idle machine',
    async (place) => {
      const times: number[] = [];
      // one measurement is enough, because other programs on the machine can only slow it down
      while (times.length < 10 && !(Math.min(...times) < underLoad(300))) {
        await page.evaluate('location.hash = "#/reference"');
        await settle(page);
        times.push(
          await page.evaluate<number>(`new Promise((resolve) => {
          const since = performance.now();
          location.hash = '#/${place}';
          const look = () =>
            document.title.toLowerCase().includes('${place}') && !document.querySelector('.skeleton, [aria-busy="true"]')
              ? resolve(performance.now() - since)
              : requestAnimationFrame(look);
          requestAnimationFrame(look);
        })`),
        );
      }
      expect(Math.min(...times)).toBeLessThan(underLoad(300));
    },
  );

  test.each([
    [1440, 'light'],
    [1440, 'dark'],
    [390, 'light'],
    [390, 'dark'],
  ] as const)('every page is accessible and fits, %i pixels wide and %s', async (width, colorScheme) => {
    const { services } = bodyOf(await api.asAdmin('GET', '/api/services?name=Parcels'));
    const tabs = ['operations', 'usage', 'credential', 'settings', 'history'];
    const places = [
      ...['', 'policy', 'calls', 'receipts', 'reference', 'services', 'services/new', 'import', 'approvals', 'agents', 'agents/busy-agent'],
      ...[
        'overview',
        'executions',
        'executions?last=',
        'executions/01J00000000000000000000000',
        'usage',
        'usage?by=agent&period=month',
        'usage?period=month&from=2026-01-01&to=2026-01-02',
        'history',
        'history/1',
        'nowhere',
      ],
      ...['', '/edit'].map((view) => `intents/world.example%3Aget-country%3Av1${view}`),
      ...tabs.map((tab) => `services/${services[0].service_id}?tab=${tab}`),
    ];
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height: 844 });
    for (const place of places) {
      await page.evaluate(`location.hash = "#/${place}"`);
      await settle(page);
      await expectToFit(page);
      await expectAccessible(page);
    }
  });
});
