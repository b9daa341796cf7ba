import { execFile } from 'node:child_process';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { build } from 'esbuild';
import { listSamples } from '../../console/app/code-samples.ts';
import { startApi } from '../e2e/api.ts';
import { makeFolder } from '../support/folder.ts';
import { installPythonClient } from '../support/python.ts';
import { nodes, systemPath } from './nodes.ts';

const run = promisify(execFile);
const { stack } = await startApi({ demo: true });
const [folder, project] = [makeFolder(), makeFolder()];

/** A fresh checkout, without build results. */
async function copyProject(to: string): Promise<void> {
  for (const part of ['client', 'package.json', '.npmrc'])
    await cp(part, join(to, part), { recursive: true, filter: (path) => !/[\\/](dist|node_modules)$/.test(path) });
  await symlink(resolve('node_modules'), join(to, 'node_modules'), 'dir');
}

/** The environment of a shell that npm has not started, because "npm test" passes on settings of the project. */
const plainEnvironment = () => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith('npm_'))),
  PATH: systemPath,
});

beforeAll(async () => {
  await copyProject(project);
  const [, line = ''] = /^```sh\n(.*npm pack .*)\n```$/m.exec(await readFile('client/README.md', 'utf8')) ?? [];
  const env = { ...plainEnvironment(), PROJECT: project, npm_config_offline: 'true' };
  await run('sh', ['-ec', line], { cwd: folder, env });
  const made = JSON.parse(await readFile(inFolder('package.json'), 'utf8'));
  await writeFile(inFolder('package.json'), JSON.stringify({ ...made, type: 'module' }));
}, 240_000);

const inFolder = (file: string) => join(folder, file);
const installed = (file: string) => readFile(inFolder(join('node_modules/intent-gate-client', file)), 'utf8');
const runIn = (program: string, args: string[]) => run(program, args, { cwd: folder, env: { ...process.env, BASE_URL: stack.base_url } });

const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--target', 'es2022', '--noEmit'];
const nodeTypes = ['--types', 'node', '--typeRoots', resolve('node_modules/@types'), '--module', 'nodenext'];

/** @throws with the compiler's output */
async function compile(files: string[], options: readonly string[]): Promise<void> {
  const args = [resolve('node_modules/typescript/bin/tsc'), '--ignoreConfig', ...strict, '--types', '', ...options, ...files];
  await run(process.execPath, args, { cwd: folder }).catch(({ stdout }) => {
    throw new Error(stdout);
  });
}

const program = `import { connect } from 'intent-gate-client';
const gate = await connect(process.env.BASE_URL, { agentId: 'agent-' + crypto.randomUUID(), onPolicy: (_, inWords) => inWords.length > 0, dpop: true });
console.log((await gate.execute('world.example:get-country:v1', { code: 'JP' })).name);
`;

test('the client package has no dependencies', async () => {
  const { dependencies } = JSON.parse(await readFile(inFolder('package-lock.json'), 'utf8')).packages['node_modules/intent-gate-client'];
  expect(dependencies).toBeUndefined();
  expect(await installed('dist/connect.js')).not.toMatch(/from '[^.]/);
});

test.each(nodes)('the client package executes an intent, and serves hosts of MCP as a program of its own, with %s', async (node) => {
  await writeFile(inFolder('program.js'), program);
  expect((await runIn(node, ['program.js'])).stdout).toBe('Japan\n');
  const path = [join(node, '..'), systemPath].join(delimiter);
  const { stderr } = await run('npx', ['--no', '--', 'intent-gate-mcp', '--help'], {
    cwd: folder,
    env: { ...plainEnvironment(), PATH: path },
  });
  expect(stderr).toContain('intent-gate-mcp accept URL ');
});

const outside = makeFolder();

test.each(['node', 'browser'] as const)('the client package can be bundled for the platform %s', async (platform) => {
  await writeFile(inFolder('program.js'), program);
  const bundle = join(outside, 'bundle.mjs');
  await build({ entryPoints: [inFolder('program.js')], outfile: bundle, bundle: true, platform, format: 'esm', logLevel: 'silent' });
  expect((await runIn(nodes.at(-1) ?? '', [bundle])).stdout).toBe('Japan\n');
});

test.each([
  ['nodenext', ['--module', 'nodenext']],
  ['bundler, for a page', ['--module', 'esnext', '--moduleResolution', 'bundler', '--lib', 'es2023,dom']],
])('the client package has types of its own, for moduleResolution %s', async (_, options) => {
  const source = `import { connect, type KeyStore, type OnPolicy, Refusal } from 'intent-gate-client';
import { openFileAgreementStore } from 'intent-gate-client/file-agreement-store';
import { openFileKeyStore } from 'intent-gate-client/file-key-store';
import { openIndexedDbKeyStore } from 'intent-gate-client/indexed-db-key-store';

const onPolicy: OnPolicy = ({ uid }, inWords, changes = []) => uid !== '' && [...inWords, ...changes].length > 0;
const keyStores: KeyStore[] = [openFileKeyStore('keys'), openIndexedDbKeyStore()];
const gate = await connect('https://gate.example', { agentId: 'a', onPolicy, keyStore: keyStores[0]!, agreementStore: openFileAgreementStore('x') });
export const uids: string[] = (await gate.search({ tags: ['x'] })).intents.map(({ intent_uid }) => intent_uid);
// @ts-expect-error: a uid is a text
export const wrong: number = (await gate.get('a:b:v1')).intent_uid;
export const isRefusal = (error: unknown): boolean => error instanceof Refusal && error.issues.length > 0;
`;
  await writeFile(inFolder('types.ts'), source);
  await compile(['types.ts'], options);
});

test("the code blocks of the client's README work", async () => {
  const blocks = [...(await installed('README.md')).matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
  expect(blocks).toHaveLength(2);
  const outputs = [];
  for (const [at, code] of blocks.entries()) {
    await writeFile(inFolder(`block-${at}.ts`), code);
    outputs.push((await runIn(process.execPath, [`block-${at}.ts`])).stdout);
  }
  expect(outputs[0]).toContain('You may execute every intent, at most 60 times a minute.\n');
  expect(outputs[0]).toContain("time_zone: 'Asia/Tokyo'");
  expect(outputs[1]).toBe("[ 'Japan', 'France', 'Brazil' ]\n");
  await compile(
    blocks.map((_, at) => `block-${at}.ts`),
    nodeTypes,
  );
});

describe("the console's code samples", () => {
  const samples = () => listSamples(stack.base_url, 'world.example:get-current-time:v1', { time_zone: 'Asia/Tokyo' });
  const local = /"?time_zone'?"?: ["']Asia\/Tokyo|"time_zone":"Asia\/Tokyo"/;

  test("the console's TypeScript sample compiles strictly, and runs", async () => {
    await writeFile(inFolder('sample.ts'), samples().TypeScript ?? '');
    await compile(['sample.ts'], nodeTypes);
    expect((await runIn(process.execPath, ['sample.ts'])).stdout).toMatch(local);
  });

  test.each(['curl', 'MCP'])("the console's %s sample runs as pasted", async (name) => {
    await writeFile(inFolder('sample.sh'), samples()[name] ?? '');
    const { stdout } = await run('bash', ['sample.sh'], { cwd: folder, env: { ...plainEnvironment(), HOME: folder } });
    expect(stdout).toContain('You may execute every intent, at most 60 times a minute.');
    expect(stdout).toMatch(local);
  });

  test("the console's Python sample runs", async () => {
    const python = await installPythonClient();
    if (!python) return;
    await writeFile(inFolder('sample.py'), samples().Python ?? '');
    expect((await runIn(join(python, 'bin', 'python'), ['sample.py'])).stdout).toMatch(local);
  });
});
