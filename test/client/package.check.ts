import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { build } from 'esbuild';
import { type RunningStack, startStack } from '../../bin/local/stack.ts';

const run = promisify(execFile);
/** The oldest Node on this machine: npm scripts put a newer one first in the PATH, so this is the next one in it. */
const systemPath = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .join(delimiter);
const nodes = [
  ...new Set([
    process.execPath,
    systemPath
      .split(delimiter)
      .map((folder) => join(folder, 'node'))
      .find(existsSync) ?? '',
  ]),
].filter((node) => node !== '');

let stack: RunningStack;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'intent-gate-package-'));
  // "npm test" hands the project's ignore-scripts on; in the package's own folder, its script builds it.
  const packing = run('npm', ['pack', '--json', '--ignore-scripts=false', '--pack-destination', folder], { cwd: 'client' });
  stack = await startStack({ port: 0, quiet: true });
  const [{ filename }] = JSON.parse((await packing).stdout);
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await run('npm', ['install', `./${filename}`, '--offline', '--no-audit', '--no-fund'], { cwd: folder });
}, 120_000);
afterAll(async () => {
  await stack?.stop();
  await rm(folder, { recursive: true, force: true });
});

const inFolder = (file: string) => join(folder, file);
const installed = (file: string) => readFile(inFolder(join('node_modules/intent-gate-client', file)), 'utf8');
const runIn = (program: string, args: string[]) => run(program, args, { cwd: folder, env: { ...process.env, BASE_URL: stack.base_url } });

const program = `import { connect } from 'intent-gate-client';
const gate = await connect(process.env.BASE_URL, { agentId: 'agent-' + crypto.randomUUID(), onPolicy: (_, inWords) => inWords.length > 0, dpop: true });
console.log((await gate.execute('world.example:get-country:v1', { code: 'JP' })).name);
`;

test('has no dependencies', async () => {
  const { dependencies } = JSON.parse(await readFile(inFolder('package-lock.json'), 'utf8')).packages['node_modules/intent-gate-client'];
  expect(dependencies).toBeUndefined();
  expect(await installed('dist/connect.js')).not.toMatch(/from '[^.]/);
});

describe.each(nodes)('with %s', (node) => {
  test('executes an intent', async () => {
    await writeFile(inFolder('program.js'), program);
    expect((await runIn(node, ['program.js'])).stdout).toBe('Japan\n');
  });

  test('serves hosts of MCP as a program of its own', async () => {
    const bin = inFolder('node_modules/.bin/intent-gate-mcp');
    const path = [join(node, '..'), systemPath].join(delimiter);
    const { stderr } = await run(bin, ['--help'], { env: { ...process.env, PATH: path } });
    expect(stderr).toContain('intent-gate-mcp accept URL ');
  });

  test.each(['node', 'browser'] as const)('can be bundled for the platform %s', async (platform) => {
    await writeFile(inFolder('program.js'), program);
    await build({
      entryPoints: [inFolder('program.js')],
      outfile: inFolder(`bundle-${platform}.mjs`),
      bundle: true,
      platform,
      format: 'esm',
      logLevel: 'silent',
    });
    await rm(inFolder('outside'), { recursive: true, force: true });
    await mkdir(inFolder('outside'));
    await writeFile(inFolder('outside/bundle.mjs'), await readFile(inFolder(`bundle-${platform}.mjs`)));
    expect((await runIn(node, [inFolder('outside/bundle.mjs')])).stdout).toBe('Japan\n');
  });
});

test.each([
  ['nodenext', ['--module', 'nodenext']],
  ['bundler', ['--module', 'esnext', '--moduleResolution', 'bundler']],
  ['bundler, for a page', ['--module', 'esnext', '--moduleResolution', 'bundler', '--lib', 'es2023,dom']],
])('has types of its own, for moduleResolution %s', async (_, options) => {
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
  const tsc = resolve('node_modules/typescript/bin/tsc');
  const strict = [
    '--noEmit',
    '--strict',
    '--exactOptionalPropertyTypes',
    '--noUncheckedIndexedAccess',
    '--target',
    'es2022',
    '--types',
    '',
  ];
  await run(process.execPath, [tsc, '--ignoreConfig', ...strict, ...options, 'types.ts'], { cwd: folder }).catch(({ stdout }) => {
    throw new Error(stdout);
  });
});

test('the code blocks of its README do what they say', async () => {
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
});
