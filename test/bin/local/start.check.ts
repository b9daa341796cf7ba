import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, test } from '@jest/globals';
import { openDataFolder, StartError } from '../../../bin/local/data-folder.ts';
import { close, listen } from '../../../bin/local/http.ts';
import { type StackOptions, startStack } from '../../../bin/local/stack.ts';
import type { StackDescription } from '../../../bin/local/stack-file.ts';
import { makeFolder } from '../../support/folder.ts';

const folder = makeFolder();
const stackFile = join(folder, '.local', 'stack.json');
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** `npm start` in a separate working folder, so that it does not interfere with a stack that runs here. */
function start(args: string[], environment: Record<string, string> = {}, program = 'bin/local.ts') {
  const child = spawn(process.execPath, [resolve(program), ...args], {
    cwd: folder,
    env: { ...process.env, PORT: '0', NODE_OPTIONS: '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  return child;
}

async function waitUntilReady(child: ReturnType<typeof start>): Promise<StackDescription> {
  const complaint = text(child.stderr);
  const { promise: ready, resolve: isReady, reject: fail } = Promise.withResolvers<void>();
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
    if (output.includes('Press Ctrl-C to stop.')) isReady();
  });
  child.once('close', async () => fail(new Error(`it ended: ${output}${await complaint}`)));
  await ready;
  return JSON.parse(readFileSync(stackFile, 'utf8'));
}

describe('refused starts', () => {
  const occupied = join(folder, 'occupied');
  writeFileSync(occupied, '');

  test.each<[string, StackOptions, string]>([
    ['a missing policy file', { policyFile: 'none.json' }, `Policy file not found: ${resolve('none.json')}.`],
    [
      'a data folder that cannot be one',
      { dataFolder: occupied },
      `The data folder ${occupied} cannot be used (EEXIST). Choose a folder that you can write to.`,
    ],
    [
      'a host that is not here',
      { port: 0, host: '203.0.113.1' },
      'Port 0 on 203.0.113.1 cannot be used: this machine does not have that address. Choose another with --host.',
    ],
  ])('npm start refuses %s in one sentence', async (_, options, sentence) => {
    await expect(startStack(options)).rejects.toEqual(new StartError(sentence));
  });

  test('npm start refuses a port in use in one sentence', async () => {
    const server = createServer();
    const port = await listen(server);
    await expect(startStack({ port })).rejects.toEqual(
      new StartError(
        `Port ${port} on 127.0.0.1 is in use: stop the process that listens there, or choose another with --port (0 picks a free port).`,
      ),
    );
    await close(server);
  });

  const usage = 'Usage: npm start -- [options]';
  test.each([
    ['bin/local.ts', ['-c', 'nope=1'], 'nope is not a setting. docs/reference.md lists all settings.\n'],
    [
      'bin/local.ts',
      ['-c', 'patlifeSeconds=60'],
      'patlifeSeconds is not a setting. Did you mean patLifeSeconds? docs/reference.md lists all settings.\n',
    ],
    [
      'bin/local.ts',
      ['-c', 'protocol'],
      `error: option '-c, --context <name=value>' argument 'protocol' is invalid. It must be <name>=<value>, for example protocol=uim.\n\n${usage}`,
    ],
    ['bin/local.ts', ['--allow-host', 'a b'], "error: option '--allow-host <name>' argument 'a b' is invalid. It must be a host name"],
    ['bin/local.ts', ['--port', '99999'], 'The port must be a number from 0 to 65535.\n'],
    ['bin/local.ts', ['--prot', '8300'], `error: unknown option '--prot'\n(Did you mean --port?)\n\n${usage}`],
    ['bin/local.ts', ['--data'], `error: option '--data <folder>' argument missing\n\n${usage}`],
    ['bin/doctor.ts', ['--stage', 'live'], "error: unknown option '--stage'\n\nUsage: npm run doctor -- "],
  ])('%s refuses the arguments %j in one sentence', async (program, args, expected) => {
    const child = start(args, {}, program);
    const [output, complaint, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    expect([output, complaint.slice(0, expected.length), code]).toEqual(['', expected, 1]);
    expect(complaint).not.toContain('    at ');
  });

  test.each([
    ['bin/local.ts', '--help', usage],
    ['bin/doctor.ts', '-h', 'Usage: npm run doctor -- '],
  ])('%s %s shows how it is used', async (program, word, expected) => {
    const child = start([word], {}, program);
    const [output, complaint, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    expect([output.slice(0, expected.length), complaint, code]).toEqual([expected, '', 0]);
  });

  test('npm start reports every invalid setting', async () => {
    const child = start(['-c', 'protocol=U I M', '--context', 'agentIds=mine']);
    const [complaint, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect(complaint).toBe(
      'The settings are not valid:\n  protocol: must be 2 to 20 lower-case letters\n  agentIds: must be bound or shared\n',
    );
    expect(code).toBe(1);
  }, 90_000);
});

const isGone = async (url: string) =>
  fetch(url, { method: 'POST' }).then(
    () => false,
    () => true,
  );

test('with --data, data, keys and users survive kill -9; a normal end leaves nothing behind', async () => {
  const args = ['--data', 'kept'];
  const first = start(args);
  const before = await waitUntilReady(first);
  expect(Object.keys(before)).toEqual([
    'base_url',
    'other_urls',
    'admin_token',
    'user_token',
    'user_password',
    'admin_password',
    'issuer',
    'client_id',
    'dynamodb_endpoint',
    'kms_endpoint',
    'user_pool_endpoint',
    'user_pool_id',
    'upstream_url',
    'process_id',
    'local_upstreams',
    'policy_file',
  ]);
  expect(statSync(stackFile).mode & 0o777).toBe(0o600);
  const keysBefore = await (await fetch(`${before.base_url}/.well-known/jwks.json`)).json();

  const rival = start(args);
  expect(await text(rival.stderr)).toBe(
    `The data folder ${join(folder, 'kept')} is in use by another stack. Stop that stack, or choose another folder.\n`,
  );

  const another = start([]);
  await waitUntilReady(another);
  const [besides = ''] = globSync('stack-*.json', { cwd: join(folder, '.local') });
  const { base_url, admin_token } = JSON.parse(readFileSync(join(folder, '.local', besides), 'utf8')) as StackDescription;
  expect(base_url).not.toBe(before.base_url);
  expect(await text(start([], { INTENT_GATE_URL: base_url }, 'bin/local/token.ts').stdout)).toBe(`${admin_token}\n`);
  const login = start(['login', '--local', '--url', base_url], { INTENT_GATE_HOME: folder }, 'bin/cli.ts');
  expect(await text(login.stdout)).toContain(`Signed in to ${base_url}.`);
  another.kill('SIGTERM');
  await once(another, 'close');
  expect(globSync('*.json', { cwd: join(folder, '.local') })).toEqual(['stack.json']);

  const created = await fetch(`${before.base_url}/api/services`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${before.admin_token}` },
    body: JSON.stringify({ service_name: 'Kept', service_url: 'https://kept.example', description: 'Outlives the process' }),
  });
  const killed = once(first, 'close');
  first.kill('SIGKILL');
  expect(created.status).toBe(201);
  const { service_id } = (await created.json()) as { service_id: string };
  await killed;

  const second = start(args);
  const after = await waitUntilReady(second);
  expect(after).toMatchObject({ issuer: before.issuer, client_id: before.client_id });
  expect(await (await fetch(`${after.base_url}/.well-known/jwks.json`)).json()).toEqual(keysBefore);
  const found = await fetch(`${after.base_url}/api/services/${service_id}`);
  expect(await found.json()).toMatchObject({ service_id, service_name: 'Kept' });
  const demo = await fetch(`${after.base_url}/api/intents/world.example:get-country:v1?view=full`);
  expect(await demo.json()).toMatchObject({ endpoint: { url: `${after.upstream_url}/countries/{code}` } });
  const removed = await fetch(`${after.base_url}/api/services/${service_id}`, {
    method: 'DELETE',
    // The users and the key that signed this token are the same as before.
    headers: { Authorization: `Bearer ${before.admin_token}` },
  });
  expect(removed.status).toBe(204);

  second.kill('SIGTERM');
  expect(await once(second, 'close')).toEqual([0, null]);
  expect(existsSync(stackFile)).toBe(false);
  openDataFolder(join(folder, 'kept')).release();
  for (const url of [after.base_url, after.dynamodb_endpoint, after.kms_endpoint, after.upstream_url]) expect(await isGone(url)).toBe(true);
}, 180_000);
