import { afterAll, beforeAll, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { bodyOf } from '../../e2e/api.ts';
import { type McpServer, startMcpServer } from '../../support/mcp-upstreams/server.ts';
import { expectAccessible, given, openAsAdmin, startConsole } from '../console-page.ts';

const { api, browser } = await startConsole({ refusals: '404|502' });
const tool = (name: string) => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object', properties: { p: { type: 'string' } } },
});
const server: McpServer = { kind: 'sessions', tools: [tool('first'), tool('second')] };
const upstream = await startMcpServer(server);
afterAll(() => upstream.stop());

given('the import of an MCP server in the console', () => {
  let page: Page;

  beforeAll(async () => {
    page = await openAsAdmin(browser, api, 'import');
  }, 90_000);

  const read = async (address: string) => {
    await page.getByLabel('Or the address of a document or an MCP server').fill(address);
    await page.getByRole('button', { name: 'Read the address' }).click();
  };

  test('the console imports the tools of an MCP server, and shows what has changed the next time', async () => {
    await read(upstream.url);
    await page.getByText('2 intents are created').waitFor();
    await page.getByText(`npx intent-gate import ${upstream.url}`).waitFor({ state: 'attached' });
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Import 2 intents' }).click();
    await page.getByRole('heading', { name: '2 created, 0 changed, 0 failed' }).waitFor();
    server.tools = [tool('first'), { ...tool('second'), description: 'Does another thing.' }];
    await page.getByRole('button', { name: `Read ${upstream.url} again` }).click();
    await page.getByText('1 intent is changed').waitFor();
    await page.getByRole('cell', { name: 'description', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Import 1 intent' }).click();
    await page.getByRole('heading', { name: '0 created, 1 changed, 0 failed' }).waitFor();
  });

  test('the console imports the tools of an MCP server that requires a credential into its service, which has one', async () => {
    server.before = (_, response, { headers }) =>
      headers.authorization !== 'Bearer a-secret-of-this-test' && void response.writeHead(401).end();
    server.tools = [tool('third')];
    await page.getByText('Choose another document').click();
    await read(upstream.url);
    await page.getByRole('alert').getByText('The server denies access to the gate. If it is an MCP server, register its service').waitFor();
    const about = { service_name: 'Locked', service_url: upstream.url, description: 'Has tools.' };
    const { service_id } = bodyOf(await api.asAdmin('POST', '/api/services', about), 201);
    const credential = { headers: { Authorization: 'Bearer a-secret-of-this-test' } };
    bodyOf(await api.asAdmin('PUT', `/api/services/${service_id}/credential`, credential));
    await page.evaluate('location.hash = "#/services"');
    await page.getByRole('link', { name: 'Import a document' }).click();
    await page.getByText('Import into a registered service').click();
    await page.getByLabel('Service', { exact: true }).selectOption({ label: 'Locked' });
    await page.getByRole('button', { name: 'Read the address' }).click();
    await page.getByText('1 intent is created').waitFor();
    await page.getByText(`npx intent-gate import --service ${service_id} ${upstream.url}`).waitFor({ state: 'attached' });
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Import 1 intent' }).click();
    await page.getByRole('heading', { name: 'Locked: 1 created, 0 changed, 0 failed' }).waitFor();
    server.before = undefined;
  });

  test('the console says that an address does not answer as an MCP server', async () => {
    await page.getByText('Choose another document').click();
    await read(api.stack.base_url.replace(/:\d+.*$/, ':1/mcp'));
    await page.getByText('The server did not list its tools (unreachable).').waitFor();
  });
});
