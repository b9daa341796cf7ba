/**
 * Runs the MCP project's own conformance tests against `/mcp` of a local stack, as far as they apply: `npm run conformance`.
 *
 * Of the 30 scenarios for servers that this version runs, the others call tools of a made-up server (`test_simple_text` and so on), or are about
 * what the gate does not have: resources, prompts, completion, logging, streams. Of the 26 scenarios for clients, 22 are about OAuth: they bring an
 * authorization server and a protected resource of their own and judge a client, so that there is nothing that a gate could take the place of.
 * `test/e2e/sign-in.check.ts` connects the official client to this gate instead.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startStack } from '../../bin/local/stack.ts';

const packageName = '@modelcontextprotocol/conformance@0.1.16';
const scenarios = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'];

const stack = await startStack({ port: 0, quiet: true });
const failed: string[] = [];
for (const scenario of scenarios) {
  const args = ['--yes', packageName, 'server', '--url', `${stack.base_url}/mcp`, '--scenario', scenario];
  const [code] = await once(spawn('npx', args, { stdio: 'inherit' }), 'exit');
  if (code !== 0) failed.push(scenario);
}
await stack.stop();
console.log(
  `${scenarios.length - failed.length} scenarios passed, ${failed.length} failed${failed.length > 0 ? `: ${failed.join(', ')}` : ''}`,
);
process.exitCode = failed.length > 0 ? 1 : 0;
