import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { close, listen } from '../../bin/local/http.ts';
import { makeFolder } from '../support/folder.ts';
import { proxiedHost, startProxied } from '../support/proxy.ts';
import { installPythonClient } from '../support/python.ts';
import { exclusions, unclearProxies } from './proxies.ts';

const gate = `https://${proxiedHost}`;
const python = await installPythonClient();

describe('a proxy', () => {
  const folder = makeFolder();
  const page = { intents: [], pagination: { total_results: 0, total_pages: 0, current_page: 1, page_size: 10 } };
  const started = startProxied(folder, (path) => {
    if (path === '/openapi.json') return { body: { openapi: '3.1.0', info: { title: 'Away', version: '1' }, paths: {} } };
    if (path.startsWith('/api/services')) return { body: { services: [], pagination: { current_page: 1, page_size: 10 } } };
    return path.startsWith('/mcp') ? { body: { jsonrpc: '2.0', id: 1, result: { is: 'well' } } } : { body: page };
  });
  const local = createServer((_, response) => response.setHeader('Content-Type', 'application/json').end(JSON.stringify(page)));
  afterAll(async () => {
    await Promise.all([(await started).stop(), close(local)]);
  });
  beforeEach(async () => {
    for (const list of [(await started).targets, (await started).paths, (await started).credentials]) list.length = 0;
  });

  /** Runs a program with its environment, and what it gets on stdin. */
  async function run([first = '', ...more]: string[], env: Record<string, string>, input = '') {
    const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/_proxy$/i.test(name)));
    const [program, words] = /\.m?[jt]s$/.test(first) ? [process.execPath, [first, ...more]] : [first, more];
    const child = spawn(program, words, {
      env: { ...inherited, INTENT_GATE_HOME: folder, AWS_CONFIG_FILE: '/dev/null', AWS_SHARED_CREDENTIALS_FILE: '/dev/null', ...env },
    });
    child.stdin.end(input);
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    return { code: child.exitCode, stdout, stderr };
  }

  const library = join(folder, 'agent.mjs');
  writeFileSync(
    library,
    `import { connect } from ${JSON.stringify(resolve('client/connect.ts'))};
const gate = await connect(process.argv[2], { agentId: 'a', onPolicy: () => true, maxAttempts: 1 });
console.log(JSON.stringify(await gate.search('time')));`,
  );
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n';
  const cli = resolve('bin/intent-gate.js');
  const bin = (name: string) => [resolve('bin/run.js'), resolve(`bin/${name}.ts`)];

  const pythonAgent = (address: string) => [
    join(String(python), 'bin', 'python'),
    '-c',
    `import json, intent_gate as client
gate = client.IntentGate(${JSON.stringify(address)}, "a", ${JSON.stringify(join(folder, 'key.pem'))}, lambda *_: True, max_attempts=1)
print(json.dumps(gate.search("time")))`,
  ];
  const programs: [string, (address: string) => string[], RegExp, string?][] = [
    ['the command line', (address) => [cli, 'services', 'list', '--url', address, '--json'], /"services"|\[\]/],
    ['intent-gate mcp', (address) => [cli, 'mcp', address, '--folder', folder], /"is":"well"/, ping],
    ['intent-gate-mcp', (address) => [resolve('client/mcp-stdio.ts'), address, '--folder', folder], /"is":"well"/, ping],
    ['an agent with the client', (address) => [library, address], /"intents":\[\]/],
    ...(python ? [['an agent in Python', pythonAgent, /"intents": \[\]/] as [string, typeof pythonAgent, RegExp]] : []),
  ];

  describe.each(programs)('%s', (_, words, output, input) => {
    test.each(['HTTPS_PROXY', 'https_proxy'])('a program reaches the gate through the proxy named in %s', async (variable) => {
      const { address, env, targets, paths, credentials } = await started;
      const { stdout } = await run(words(gate), { ...env, [variable]: `http://me:s3cret@${address}` }, input);
      expect(stdout).toMatch(output);
      expect(targets).toEqual([`${proxiedHost}:443`]);
      expect(paths).toHaveLength(1);
      expect(credentials).toEqual([`Basic ${Buffer.from('me:s3cret').toString('base64')}`]);
    });

    test('a program reaches this machine without the proxy', async () => {
      const { address, targets } = await started;
      const port = local.listening ? (local.address() as { port: number }).port : await listen(local);
      const proxies = { HTTP_PROXY: address, HTTPS_PROXY: address, http_proxy: address, https_proxy: address };
      await run(words(`http://localhost:${port}`), proxies, input);
      await run(words('https://127.0.0.1:1'), proxies, input);
      expect(targets).toEqual([]);
    });

    test('a program does not use the proxy for a host in NO_PROXY, and names it otherwise if it fails, without its password', async () => {
      const { env, targets } = await started;
      const broken = { ...env, HTTPS_PROXY: 'http://me:s3cret@127.0.0.1:1' };
      const excluded = await run(words(gate), { ...broken, NO_PROXY: '.example' }, input);
      expect(excluded.stdout + excluded.stderr).toContain(
        `Nothing answers at ${gate}. Check the address, and whether the gate is running.`,
      );
      const failed = await run(words(gate), broken, input);
      expect(failed.stdout + failed.stderr).toMatch(
        /gate\.example through the proxy 127\.0\.0\.1:1( \(HTTPS_PROXY\))?\. Check the address, the proxy, and/,
      );
      expect(failed.stdout + failed.stderr).not.toContain('s3cret');
      expect(targets).toEqual([]);
    });

    test.each(unclearProxies.slice(0, 2))('a program prints no part of a password that is not encoded: %s', async (_has, proxy) => {
      const { stdout, stderr } = await run(words(gate), { HTTPS_PROXY: proxy }, input);
      expect(stdout + stderr).toContain(`Nothing answers at ${gate} through the proxy in HTTPS_PROXY, which must be an address`);
      expect(stdout + stderr).not.toMatch(/Zm9v|4711/);
    });
  });

  (python ? test : test.skip).each(unclearProxies)(
    'an agent in Python prints no part of a password that is not encoded: %s',
    async (_, proxy) => {
      const { stdout, stderr } = await run(pythonAgent(gate), { https_proxy: proxy });
      expect(stdout + stderr).toContain(
        'through the proxy in https_proxy, which must be an address such as http://proxy.example:3128, with / ?',
      );
      expect(stdout + stderr).not.toMatch(/Zm9v|4711/);
    },
  );

  (python ? test : test.skip)('NO_PROXY excludes the same for an agent in Python as for the other programs', async () => {
    const code = `import json, os, sys
from intent_gate.wire import proxy_of
def is_excluded(name, address, no_proxy, _):
    os.environ["NO_PROXY"] = no_proxy
    return [name, address, no_proxy, proxy_of(address) is None]
print(json.dumps([is_excluded(*one) for one in json.loads(sys.argv[1])]))`;
    const words = [join(String(python), 'bin', 'python'), '-c', code, JSON.stringify(exclusions)];
    const { stdout } = await run(words, { HTTPS_PROXY: 'http://127.0.0.1:1' });
    expect(JSON.parse(stdout)).toEqual(exclusions);
  });

  test('a document for an import is fetched through the proxy', async () => {
    const { address, env, targets, paths } = await started;
    const words = [cli, 'import', `${gate}/openapi.json`, '--dry-run', '--url', gate];
    await run(words, { ...env, HTTPS_PROXY: address });
    expect([targets[0], paths[0]]).toEqual([`${proxiedHost}:443`, '/openapi.json']);
    const failed = await run(words, { ...env, HTTPS_PROXY: 'http://me:s3cret@127.0.0.1:1' });
    expect(failed.stderr).toContain('The document was not fetched through the proxy 127.0.0.1:1 (HTTPS_PROXY): ');
    expect(failed.stderr).not.toContain('s3cret');
  });

  const aws = { AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 's', AWS_MAX_ATTEMPTS: '1' };
  const pool = ['login', '--url', gate, '--region', 'eu-west-1', '--client-id', 'c', '--username', 'u', '--password-stdin'];

  test.each<[string, string[], string]>([
    ['the doctor', bin('doctor'), 'AWS cannot be reached'],
    ['a deployment', bin('deploy'), 'AWS cannot be reached'],
    ['restore', [...bin('restore'), '--from', 'copy', '--all'], 'DynamoDB is not responding'],
    ['a sign-in to the user pool', [cli, ...pool, '--endpoint', gate], `The user pool at ${gate} did not respond as expected`],
  ])('%s reaches AWS through the proxy', async (_, words, message) => {
    const { address, env, targets } = await started;
    const variables = { ...env, ...aws, AWS_ENDPOINT_URL: gate };
    await run(words, { ...variables, HTTPS_PROXY: address }, 'password\n');
    expect(new Set(targets)).toEqual(new Set([`${proxiedHost}:443`]));
    const failed = await run(words, { ...variables, HTTPS_PROXY: 'me:s3cret@127.0.0.1:1' }, 'password\n');
    expect(failed.stdout + failed.stderr).toContain(`${message} through the proxy 127.0.0.1:1 (HTTPS_PROXY)`);
    expect(failed.stdout + failed.stderr).not.toContain('s3cret');
    for (const [, proxy] of unclearProxies.slice(0, 2)) {
      const { stdout, stderr } = await run(words, { ...variables, HTTPS_PROXY: proxy }, 'password\n');
      expect(stdout + stderr).toContain(`${message} through the proxy in HTTPS_PROXY, which must be an address`);
      expect(stdout + stderr).not.toMatch(/Zm9v|4711/);
    }
  });
});
