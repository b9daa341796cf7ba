import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { startApi } from '../e2e/api.ts';
import { makeFolder } from '../support/folder.ts';
import { notTested } from '../support/not-tested.ts';
import { openProvider } from '../support/sign-in/oauth-provider.ts';
import { decide, openAuthorization, openBrowser } from '../support/sign-in/sign-in.ts';

// Programs that nobody here wrote sign a person in, and are given nothing but the address of the gate's sign-in.

const packages = ['mcp-remote@0.15.1', '@modelcontextprotocol/inspector@2.12.0'];
// stays, so that the next run finds them there
const installed = resolve('node_modules/.cache/intent-gate/sign-in');
const options = ['--prefix', installed, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund'];
const isInstalled = await promisify(execFile)('npm', ['install', ...options, ...packages]).then(
  () => true,
  (error: Error) => notTested(packages.join(', '), error),
);
const folder = makeFolder();
const { stack } = await startApi({ demo: true, context: { patLifeSeconds: 60 } });

const address = `${stack.base_url}/mcp/sign-in`;
const country = { intent_uid: 'world.example:get-country:v1', parameters: { code: 'JP' } };
const program = (path: string) => join(installed, 'node_modules', path);

/** What a program finds on the machine of somebody who reads the address to open off the terminal. */
const environment = { PATH: process.env.PATH ?? '', HOME: folder, BROWSER: 'true' };

/** The person at a terminal: opens every address that a program asks to open, signs in, accepts, and lets the browser follow the answer. Returns the pages seen. */
function watch(terminal: Readable): string[] {
  const pages: string[] = [];
  createInterface({ input: terminal }).on('line', async (line) => {
    const [, asked] = /(http:\S+\/oauth\/authorize\?\S+)/.exec(line) ?? [];
    if (asked === undefined) return;
    const browser = openBrowser();
    const page = await openAuthorization(browser, stack, asked);
    pages.push(page.text.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' '));
    const { next = '' } = await decide(browser, stack, page);
    // some begin to listen only after they have opened the browser
    for (let times = 0; times < 50 && !(await fetch(next).catch(() => undefined)); times++) await new Promise((go) => setTimeout(go, 100));
  });
  return pages;
}

/** Resolves when no PAT that was issued before this call is valid any more. */
const untilPatsEnd = () => new Promise((go) => setTimeout(go, 61_000));

const onlyIfInstalled = isInstalled ? test : test.skip;

onlyIfInstalled(
  'mcp-remote signs in when it connects, renews its PAT without asking, and does not ask when it is started again',
  async () => {
    const asked: string[][] = [];
    const start = async () => {
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [program('mcp-remote/dist/proxy.js'), address, '--allow-http'],
        env: { ...environment, MCP_REMOTE_CONFIG_DIR: folder },
        stderr: 'pipe',
      });
      asked.push(watch(transport.stderr as Readable));
      const client = new Client({ name: 'host', version: '1' });
      await client.connect(transport);
      return client;
    };
    const execute = async (client: Client) =>
      expect(await client.callTool({ name: 'execute_intent', arguments: country })).toMatchObject({
        isError: false,
        structuredContent: { name: 'Japan' },
      });

    const first = await start();
    expect(asked).toHaveLength(1);
    expect(asked[0]).toHaveLength(1);
    expect(await first.callTool({ name: 'search_intents', arguments: { query: 'which country has this code' } })).toMatchObject({
      isError: false,
    });
    await execute(first);
    await untilPatsEnd();
    await execute(first);
    await first.close();
    const second = await start();
    await execute(second);
    await second.close();
    expect(asked).toEqual([[expect.stringContaining('a program on your machine that calls itself “MCP CLI Proxy”')], []]);
  },
  200_000,
);

onlyIfInstalled(
  'the Inspector signs in when it connects, and renews its PAT without asking when it is started again',
  async () => {
    const asked: string[][] = [];
    const execute = async () => {
      const call = ['--method', 'tools/call', '--tool-name', 'execute_intent', '--tool-args-json', JSON.stringify(country)];
      const launcher = program('@modelcontextprotocol/inspector/clients/launcher/build/index.js');
      const child = spawn(process.execPath, [launcher, '--cli', address, '--transport', 'http', ...call], {
        cwd: folder,
        // it asks for a terminal otherwise, and for a keyring
        env: { ...environment, MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file' },
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: 60_000,
      });
      asked.push(watch(child.stderr));
      const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
      expect({ code, result: JSON.parse(output) }).toMatchObject({ code: 0, result: { structuredContent: { name: 'Japan' } } });
    };

    await execute();
    await untilPatsEnd();
    await execute();
    expect(asked).toEqual([[expect.stringContaining('a program on your machine that calls itself “MCP Inspector”')], []]);
  },
  200_000,
);

/**
 * A host that decides once, by the response to `initialize`, whether a server needs a sign-in: if not, it never looks at a later 401. It finds the
 * metadata by the challenge only.
 */
async function addServer(url: string): Promise<{ authentication: 'none' | 'OAuth'; client: Client }> {
  const client = new Client({ name: 'host', version: '1' });
  let challenge: string | null = null;
  const watch: typeof fetch = async (...request) => {
    const response = await fetch(...request);
    if (response.status === 401) challenge ??= response.headers.get('www-authenticate');
    return response;
  };
  const isOpen = await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: watch })).then(
    () => true,
    () => false,
  );
  if (isOpen) return { authentication: 'none', client };
  if (!/^Bearer .*resource_metadata="http[^"]+"/.test(challenge ?? '')) throw new Error('the server can neither be used nor signed in to');
  const { provider, addressToOpen } = openProvider({ clientInformation: () => ({ client_id: 'intent-gate-public' }) });
  const first = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  await new Client({ name: 'host', version: '1' }).connect(first).catch(() => {});
  const browser = openBrowser();
  const answer = await decide(browser, stack, await openAuthorization(browser, stack, addressToOpen()));
  await first.finishAuth(new URL(answer.next ?? '').searchParams);
  const signedIn = new Client({ name: 'host', version: '1' });
  await signedIn.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider: provider }));
  return { authentication: 'OAuth', client: signedIn };
}

test.each([
  ['/mcp/sign-in', 'OAuth', { isError: false, structuredContent: { name: 'Japan' } }],
  ['/mcp', 'none', { isError: true, structuredContent: { error: { code: 'UNAUTHORIZED' } } }],
])('a host that decides when it connects finds that %s has the authentication %s', async (path, authentication, result) => {
  const host = await addServer(`${stack.base_url}${path}`);
  expect(host.authentication).toBe(authentication);
  expect(await host.client.callTool({ name: 'execute_intent', arguments: country })).toMatchObject(result);
  await host.client.close();
});
