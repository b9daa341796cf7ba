import { execFile } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from '@jest/globals';
import { startApi } from '../e2e/api.ts';
import { makeFolder } from '../support/folder.ts';
import { notTested } from '../support/not-tested.ts';
import { installRequirements } from '../support/python.ts';
import { startModel } from './model.ts';

// Clients and frameworks that nobody here wrote, as people install them. What a registry does not have is skipped, with a word.

const run = promisify(execFile);
const folder = makeFolder();

async function install(name: string, work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    notTested(name, error as Error);
    return false;
  }
}

const installed = {
  mcp1: await install('Python SDK 1, LangChain, OpenAI Agents', () =>
    installRequirements('.venv-mcp1', 'test/hosts/requirements-mcp1.txt'),
  ),
  mcp2: await install('Python SDK 2, fastmcp, Pydantic AI', () => installRequirements('.venv-mcp2', 'test/hosts/requirements-mcp2.txt')),
  withoutOAuth: await install('smolagents, mcp-use', () => installRequirements('.venv-no-oauth', 'test/hosts/requirements-no-oauth.txt')),
  go: await install('Go SDK', () => run('go', ['build', '-C', 'test/hosts/go', '-o', join(folder, 'go-host'), '.'])),
  npm: await install('AI SDK', () => run('npm', ['ci', '--prefix', 'test/hosts', '--ignore-scripts', '--no-audit', '--no-fund'])),
};
// the command as docs/frameworks.md installs it
await run('npm', ['install', '--global', '--prefix', folder, '--no-audit', '--no-fund', '.']);
if (installed.npm) symlinkSync(resolve('test/hosts/node_modules'), join(folder, 'node_modules'));

const api = await startApi({ demo: true });
const model = await startModel();
const baseUrl = api.stack.base_url;
const pat = await api.obtainPat();
afterAll(() => model.stop());

const python = (environment: string) => resolve(environment, 'bin', 'python');

/** Runs a program as somebody with a folder of their own. */
const runProgram = (program: string, file: string, variables: Record<string, string> = {}) =>
  run(program, [file], {
    cwd: folder,
    timeout: 120_000,
    env: {
      PATH: [join(folder, 'bin'), process.env.PATH].join(delimiter),
      HOME: folder,
      BASE_URL: baseUrl,
      PYTHONDONTWRITEBYTECODE: '1',
      ...variables,
    },
  });

describe('clients of MCP', () => {
  const clients = [
    { client: 'sdk_v1', environment: '.venv-mcp1', isInstalled: installed.mcp1 },
    { client: 'langchain_adapters', environment: '.venv-mcp1', isInstalled: installed.mcp1 },
    { client: 'sdk_v2', environment: '.venv-mcp2', isInstalled: installed.mcp2 },
    { client: 'fastmcp_client', environment: '.venv-mcp2', isInstalled: installed.mcp2 },
  ];

  for (const { client, environment, isInstalled } of clients) {
    (isInstalled ? test : test.skip)(
      `${client} uses the gate over HTTP, and over the program that it starts`,
      async () => {
        const variables = { PAT: pat, FOLDER: join(folder, client) };
        const { stdout } = await runProgram(python(environment), resolve(`test/hosts/${client}.py`), variables);
        expect(JSON.parse(stdout)).toEqual({
          tools: ['search_intents', 'get_intent', 'accept_policy', 'execute_intent'],
          hit: 'world.example:get-current-time:v1',
          refused: 'UNAUTHORIZED',
          http: 'Japan',
          stdio: 'Japan',
          asked: 1,
          ...(client === 'sdk_v2' && { revision: '2026-07-28' }),
        });
      },
      150_000,
    );
  }
});

describe('clients that know the address of /mcp and nothing else, at a gate with sign-in', () => {
  const clients = [
    ...['sdk_v1', 'smolagents', 'mcp_use', 'langchain'].map((name) => ({
      name,
      command: [python('.venv-no-oauth'), resolve('test/hosts/without_oauth.py'), name],
      isInstalled: installed.withoutOAuth,
    })),
    { name: 'Go SDK', command: [join(folder, 'go-host')], isInstalled: installed.go },
  ];

  for (const { name, command, isInstalled } of clients) {
    (isInstalled ? test : test.skip)(
      `the model behind ${name} is told what to do, and executes`,
      async () => {
        const [program = '', ...args] = command;
        const env = { PATH: process.env.PATH, HOME: folder, BASE_URL: baseUrl, PAT: pat };
        const { stdout } = await run(program, args, { cwd: folder, timeout: 120_000, env });
        const { told, done } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
        expect(told).toContain('UNAUTHORIZED: Executing an intent needs a PAT, and this call has none.');
        expect(told).toContain('Next: Call accept_policy without arguments');
        expect(told).toContain(`${baseUrl}/mcp/sign-in`);
        expect(done).toContain('Japan');
      },
      150_000,
    );
  }
});

describe('the examples of docs/frameworks.md', () => {
  const blocks = [...readFileSync('docs/frameworks.md', 'utf8').matchAll(/^## ([^\n]+)\n[^#]*?^```(python|ts)\n(.*?)^```/gms)].map(
    ([, framework = '', language = '', code = '']) => ({ framework, language, code }),
  );
  const runs: Record<string, { program: string; isInstalled: boolean }> = {
    LangChain: { program: python('.venv-mcp1'), isInstalled: installed.mcp1 },
    'OpenAI Agents': { program: python('.venv-mcp1'), isInstalled: installed.mcp1 },
    'Pydantic AI': { program: python('.venv-mcp2'), isInstalled: installed.mcp2 },
    'AI SDK': { program: process.execPath, isInstalled: installed.npm },
  };

  test('the examples of docs/frameworks.md are all run here', () => {
    expect(blocks.map(({ framework }) => framework)).toEqual(Object.keys(runs));
  });

  test('the examples of docs/frameworks.md need the policy to be accepted once', async () => {
    const [, commands = ''] = /^```sh\n(.*?)^```/ms.exec(readFileSync('docs/frameworks.md', 'utf8')) ?? [];
    writeFileSync(join(folder, 'accept.sh'), commands);
    const { stderr } = await runProgram('bash', 'accept.sh');
    expect(stderr).toMatch(/Accepted\. The agent mcp-[0-9a-f]{12} may now execute intents\.\n$/);
  });

  for (const { framework, language, code } of blocks) {
    const { program = '', isInstalled = false } = runs[framework] ?? {};
    (isInstalled ? test : test.skip)(
      `the example for ${framework} finds and executes an intent`,
      async () => {
        const file = `example.${language === 'python' ? 'py' : 'ts'}`;
        writeFileSync(join(folder, file), code);
        const variables = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'none', OPENAI_AGENTS_DISABLE_TRACING: '1' };
        const { stdout } = await runProgram(program, file, variables);
        expect(stdout).toContain('Asia/Tokyo');
        expect(stdout).toContain('Japan Standard Time');
      },
      150_000,
    );
  }
});
