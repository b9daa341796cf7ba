/**
 * Runs the MCP project's own conformance tests against a local stack, as far as they apply: `npm run conformance`.
 *
 * Of the scenarios for servers, the others call tools of a made-up server (`test_simple_text` and so on), or are about what the gate does not have:
 * resources, prompts, completion, logging, streams. Those for authorization servers are run all. Those for clients about OAuth bring an authorization
 * server and a protected resource of their own and judge a client, so that there is nothing that a gate could take the place of:
 * `test/e2e/sign-in/sign-in.check.ts` connects the official client to this gate instead.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { startStack } from '../../bin/local/stack.ts';
import { issuerOf } from '../../functions/sign-in/metadata.ts';
import { findFreePort } from '../support/local-process.ts';
import { decide, openAuthorization, openBrowser } from '../support/sign-in/sign-in.ts';

const packageName = '@modelcontextprotocol/conformance@0.2.0-alpha.12';
const scenarios = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection', 'http-header-validation'];

const stack = await startStack({ port: 0, quiet: true });
const { base_url: baseUrl } = stack;
const failed: string[] = [];

function start(words: string[]) {
  const child = spawn('npx', ['--yes', packageName, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.pipe(process.stdout);
  return child;
}

/** Plays the person whom the suite asks to open an address in a browser: signs in, and accepts the policy. */
async function signIn(address: string): Promise<void> {
  const browser = openBrowser();
  const page = await openAuthorization(browser, stack, address);
  await fetch((await decide(browser, stack, page)).next ?? '');
}

for (const scenario of scenarios) {
  const [code] = await once(start(['server', '--url', `${baseUrl}/mcp`, '--scenario', scenario]), 'exit');
  if (code !== 0) failed.push(scenario);
}

const client = ['--client-id', 'intent-gate-public', '--resource', `${baseUrl}/mcp/sign-in`, '--port', String(await findFreePort())];
const authorization = start(['authorization', '--url', issuerOf(baseUrl), ...client]);
const exit = once(authorization, 'exit');
let isSignedIn = false;
for await (const line of createInterface({ input: authorization.stdout })) {
  if (isSignedIn || !line.startsWith(`${baseUrl}/oauth/authorize?`)) continue;
  isSignedIn = true;
  await signIn(line.trim());
}
const [code] = await exit;
if (code !== 0 || !isSignedIn) failed.push('authorization');

await stack.stop();
console.log(
  `${scenarios.length + 1 - failed.length} scenarios passed, ${failed.length} failed${failed.length > 0 ? `: ${failed.join(', ')}` : ''}`,
);
process.exitCode = failed.length > 0 ? 1 : 0;
