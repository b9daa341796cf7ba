import { afterAll, beforeAll, test } from '@jest/globals';
import type { Page } from 'playwright-core';
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
    await page.getByLabel('Or the address of an MCP server').fill(address);
    await page.getByRole('button', { name: 'Read its tools' }).click();
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

  test('the console says that an address does not answer as an MCP server', async () => {
    await page.getByText('Choose another document').click();
    await read(api.stack.base_url.replace(/:\d+.*$/, ':1/mcp'));
    await page.getByText('The server did not list its tools (unreachable).').waitFor();
  });
});
