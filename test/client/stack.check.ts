import { execFile } from 'node:child_process';
import { createPublicKey, generateKeyPairSync, randomBytes, randomUUID, verify } from 'node:crypto';
import { statSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { build } from 'esbuild';
import fc from 'fast-check';
import { chromium } from 'playwright-core';
import { connect, type KeyStore } from '../../client/connect.ts';
import { openFileKeyStore } from '../../client/file-key-store.ts';
import { version } from '../../lib/version.ts';
import { canonicalDigest } from '../../schemas/canonical.ts';
import { fullIntent } from '../../schemas/intent.ts';
import { intentPage } from '../../schemas/intent-pages.ts';
import { chromiumPath } from '../../tools/chromium.ts';
import { startApi } from '../e2e/api.ts';
import { makeFolder } from '../support/folder.ts';
import { installPythonClient } from '../support/python.ts';
import { intentOf } from '../support/records.ts';

const api = await startApi({ demo: true });
const baseUrl = api.stack.base_url;
const folder = makeFolder();

const run = promisify(execFile);
const country = 'world.example:get-country:v1';

describe('Node', () => {
  test('the client in Node finds, reads and executes; the next run uses the same key', async () => {
    const agentId = `agent-${randomUUID()}`;
    const open = () => connect(baseUrl, { agentId, onPolicy: () => true, dpop: true, keyStore: openFileKeyStore(join(folder, 'keys')) });
    const client = await open();
    const found = await client.search('which country has this code');
    expect(intentPage.parse(found).intents.map(({ intent_uid }) => intent_uid)).toContain(country);
    expect((await client.search({ tags: ['countries'], page_size: 1 })).pagination.page_size).toBe(1);
    expect(fullIntent.parse(await client.get(country)).intent_id).toBe(country);
    expect(await client.execute(country, { code: 'JP' })).toMatchObject({ name: 'Japan' });
    expect(await (await open()).execute(country, { code: 'FR' })).toMatchObject({ name: 'France' });
  });

  test('the client in Node requests a part of the answer, and executes an intent only if it has not changed', async () => {
    const client = await connect(baseUrl, { agentId: `agent-${randomUUID()}`, onPolicy: () => true });
    const { digest } = await client.get(country);
    expect(await client.execute(country, { code: 'JP' }, { fields: ['/name'], ifMatch: digest })).toEqual({ name: 'Japan' });
    for (const ifMatch of [`${'x'.repeat(43)}.${digest.slice(44)}`, '"another"'])
      await expect(client.execute(country, { code: 'JP' }, { ifMatch })).rejects.toMatchObject({ status: 409, code: 'CONFLICT' });
  });
});

(chromiumPath === undefined ? describe.skip : describe)('a browser', () => {
  test('the client in a browser keeps a key that cannot be copied, across a reload', async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: "export * from './client/connect.ts'; export * from './client/indexed-db-key-store.ts';",
        resolveDir: process.cwd(),
      },
      bundle: true,
      format: 'iife',
      globalName: 'intentGate',
      write: false,
    });
    const running = await chromium.launch({ executablePath: chromiumPath ?? '', args: ['--no-sandbox'] });
    try {
      const page = await running.newPage();
      const visit = async () => {
        await page.goto(`${baseUrl}/health`);
        await page.addScriptTag({ content: outputFiles[0]?.text ?? '' });
        return page.evaluate(async (url) => {
          const { connect, openIndexedDbKeyStore } = (
            globalThis as unknown as {
              intentGate: typeof import('../../client/connect.ts') & { openIndexedDbKeyStore(): KeyStore };
            }
          ).intentGate;
          const keyStore = openIndexedDbKeyStore();
          const client = await connect(url, { agentId: 'in-a-browser', onPolicy: () => true, keyStore, dpop: true });
          const answer = await client.execute('world.example:get-country:v1', { code: 'JP' });
          const { privateKey, publicKey } = (await keyStore.load('in-a-browser')) ?? {};
          const again = await keyStore.save(
            'in-a-browser',
            (await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign'])) as never,
          );
          const xOf = async (key: typeof publicKey) => (key ? (await crypto.subtle.exportKey('jwk', key)).x : undefined);
          return { name: answer.name, extractable: privateKey?.extractable, x: await xOf(publicKey), xAgain: await xOf(again.publicKey) };
        }, baseUrl);
      };
      const first = await visit();
      expect(first).toEqual({ name: 'Japan', extractable: false, x: expect.any(String), xAgain: first.x });
      expect(await visit()).toEqual(first);
    } finally {
      await running.close();
    }
  });
});

const environment = await installPythonClient();
const python = (...args: string[]) =>
  run(join(environment ?? '', 'bin', 'python'), args, {
    env: { ...process.env, HOME: folder, INTENT_GATE_HOME: '', BASE_URL: baseUrl, PYTHONDONTWRITEBYTECODE: '1' },
  });

/** Runs a line of bash, for which "agent" is the program; fails if any part of a pipe does. */
const shell = (line: string): Promise<{ code: number; stdout: string; stderr: string }> => {
  const agent = `set -o pipefail; agent() { ${environment}/bin/python -m intent_gate "$@"; }; `;
  const ours = { INTENT_GATE_HOME: join(folder, 'shell'), BASE_URL: baseUrl, PYTHONDONTWRITEBYTECODE: '1', PYTHONUNBUFFERED: '' };
  const env = { ...process.env, ...ours };
  return run('bash', ['-c', agent + line], { env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
};
const japan = `${country} '{"code":"JP","in_language":"ja"}'`;

(environment ? describe : describe.skip)('Python, as a package that is installed', () => {
  test('the Python client makes signatures that Node verifies', async () => {
    const { stdout } = await python(
      '-c',
      `import json, sys, intent_gate as g
key = g.Key(bytes.fromhex(sys.argv[1]))
print(json.dumps([key.pem, key.jwk, key.sign({"iat": 1}, {"b": 0.5, "a": "ü"})]))`,
      randomBytes(32).toString('hex'),
    );
    const [pem, jwk, jws] = JSON.parse(stdout) as [string, object, string];
    const key = createPublicKey(pem);
    expect(key.export({ format: 'jwk' })).toEqual(jwk);
    const [header = '', payload = '', signature = ''] = jws.split('.');
    const decode = (segment: string) => JSON.parse(Buffer.from(segment, 'base64url').toString());
    expect([decode(header), decode(payload)]).toEqual([
      { alg: 'EdDSA', iat: 1 },
      { b: 0.5, a: 'ü' },
    ]);
    expect(verify(null, Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url'))).toBe(true);
  });

  test('the Python client proves possession of its key, without which its PAT is useless', async () => {
    const { stdout } = await python(
      '-c',
      `import json, os, intent_gate as g
key = g.Key(os.urandom(32))
gate = g.IntentGate(os.environ["BASE_URL"], key.agent_id, key, lambda *_: True, dpop=True)
print(json.dumps([gate.execute("${country}", {"code": "JP"})["name"], gate.obtain_pat()]))`,
    );
    const [name, pat] = JSON.parse(stdout) as [string, string];
    expect(name).toBe('Japan');
    const execute = { method: 'POST', headers: { Authorization: `Bearer ${pat}`, 'Content-Type': 'application/json' } };
    const stolen = await fetch(`${baseUrl}/api/intents/execute`, {
      ...execute,
      body: JSON.stringify({ intent_uid: country, parameters: { code: 'JP' } }),
    });
    expect([stolen.status, await stolen.text()]).toEqual([401, expect.stringContaining('bound to its key')]);
  });

  test('the Python client computes the same digests as the gate', async () => {
    const values = [
      ...fc.sample(fc.jsonValue(), 200),
      [1e21, 1e-7, 0.000001, 0.00001, -0, 1.5e300],
      { '\u{1f600}': 1, '\ufb33': 2, 10: 1, 9: 2 },
    ];
    const { stdout } = await python(
      '-c',
      `import json, sys
from intent_gate.canonical import AsWritten, canonical_digest
print(json.dumps([canonical_digest(value) for value in json.loads(sys.argv[1], parse_float=AsWritten)]))`,
      JSON.stringify(values),
    );
    expect(JSON.parse(stdout)).toEqual(values.map(canonicalDigest));
  });

  test('the Python client finds, reads and executes from a shell, with a key of its own', async () => {
    const key = join(folder, '.intent-gate', 'python.key');
    const command = (...args: string[]) => python('-m', 'intent_gate', ...args);
    expect((await command('--version')).stdout).toBe(`${version}\n`);
    expect((await command('policy')).stdout).toContain('You may execute every intent, at most 60 times a minute.');
    expect((await command('search', 'which country has this code')).stdout).toContain(country);
    expect(JSON.parse((await command('get', country)).stdout).intent_uid).toBe(country);
    for (const code of ['JP', 'FR']) {
      const { stdout } = await command('--accept-policy', 'execute', country, JSON.stringify({ code }));
      expect(JSON.parse(stdout).code).toBe(code);
    }
    expect(statSync(key).mode & 0o777).toBe(0o600);
  });

  test.each([-290, 290])('the Python client gets a PAT with a clock that is %i seconds off', async (seconds) => {
    const words = ['intent-gate', '--key', join(folder, `clock-${seconds}.key`), '--accept-policy', 'execute', country, '{"code":"JP"}'];
    const { stdout } = await python(
      '-c',
      `import runpy, sys, time
right, off = time.time, float(sys.argv[1])
time.time = lambda: right() + off
sys.argv = sys.argv[2:]
runpy.run_module("intent_gate", run_name="__main__")`,
      String(seconds),
      ...words,
    );
    expect(JSON.parse(stdout).name).toBe('Japan');
  });

  test('the Python client requests a part of the answer, runs only an unchanged intent, and repeats the reason of the service', async () => {
    const execute = (...args: string[]) =>
      python('-m', 'intent_gate', '--accept-policy', 'execute', ...args).catch((error) => error) as Promise<{
        code?: number;
        stdout: string;
        stderr: string;
      }>;
    const { digest } = JSON.parse((await python('-m', 'intent_gate', 'get', country)).stdout);
    const some = await execute(country, '{"code":"JP"}', '--field', '/name', '--if-match', digest);
    expect(JSON.parse(some.stdout)).toEqual({ name: 'Japan' });
    expect(await execute(country, '{"code":"JP"}', '--if-match', '"another"')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('CONFLICT: '),
    });
    expect(await execute('world.example:get-current-time:v1', '{"time_zone":"Tokyo"}')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^INTENT_EXECUTION_FAILED: [^\n]+\nThe service said: .*time_zone must be an IANA time zone, for example Asia\/Tokyo/,
      ),
    });
  });

  test('the Python client reports what is wrong, and fails', async () => {
    const failed = await python('-m', 'intent_gate', '--key', join(folder, 'other.key'), '--accept-policy', 'execute', country, '{}').catch(
      (error) => error,
    );
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain('INVALID_PARAMETER: ');
    expect(failed.stderr).toContain('  /parameters/code is required');
    const named = ['--key', join(folder, 'named.key'), '--agent-directory', 'https://127.0.0.1:1', '--accept-policy', 'execute'];
    const unverified = await python('-m', 'intent_gate', ...named, country, '{"code":"JP"}').catch((error) => error);
    expect(unverified.stderr).toContain('  /agent_directory must be the https origin of a public host that answers');
    const unknown = await python('-m', 'intent_gate', 'get', 'world.example:get-contry:v1').catch((error) => error);
    expect(unknown.stderr).toMatch(/^NOT_FOUND: [^\n]+\nDid you mean world\.example:get-country:v1(, [^\n]+)?\?\n$/);
    for (const parameters of ['{code:JP}', '[]']) {
      const unread = await python('-m', 'intent_gate', 'execute', country, parameters).catch((error) => error);
      expect(unread).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`argument parameters: must be a JSON object in quotes, for example '{"code":"JP"}'\n`),
      });
    }
  });

  test('the Python client names the key of a call that was not answered, and takes it', async () => {
    const own = ['--key', join(folder, 'repeating.key'), '--accept-policy', 'execute', '--idempotency-key', 'own-key'];
    const { stderr } = await python('-m', 'intent_gate', '--url', 'http://127.0.0.1:2', ...own, country, '{}').catch((error) => error);
    expect(stderr).toMatch(/UNREACHABLE: Nothing answers at .*\n {2}to repeat the call, add --idempotency-key own-key\n$/);
  });

  test('the Python client refuses a key that others can read, and sends nothing over http to another machine', async () => {
    const key = join(folder, 'open.key');
    await writeFile(key, `${'00'.repeat(32)}\n`, { mode: 0o644 });
    const execute = (...more: string[]) =>
      python('-m', 'intent_gate', '--key', key, ...more, 'execute', country, '{}').catch((error) => error);
    expect(await execute()).toMatchObject({
      code: 2,
      stderr: `Others can read ${key}, which contains a key. Make it private: chmod 600 ${key}\n`,
    });
    await chmod(key, 0o600);
    expect(await execute('--url', 'http://gate.example')).toMatchObject({
      code: 2,
      stderr: 'the address of the gate must begin with https://; tokens may be sent over http only to this machine\n',
    });
  });

  test.each<[string, string | Buffer]>([
    ['text', 'my key\n'],
    ['a PEM', generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' })],
    ['bytes', randomBytes(32).fill(0xff, 0, 1)],
    ['nothing', ''],
    ['half a key', '0'.repeat(32)],
  ])('the Python client says which file is no key of its own: %s', async (name, content) => {
    const key = join(folder, `${name}.key`);
    await writeFile(key, content, { mode: 0o600 });
    expect(await shell(`agent --key '${key}' execute ${japan}`)).toEqual({
      code: 2,
      stdout: '',
      stderr: `${key} does not contain a key of this program, which is 64 hexadecimal digits. Name another file, or move this one away; a new one is created.\n`,
    });
    expect(await readFile(key)).toEqual(Buffer.from(content));
  });

  test('the Python client does not sign a policy that is not accepted', async () => {
    const declined = python('-m', 'intent_gate', '--key', join(folder, 'third.key'), 'execute', country, '{"code":"JP"}');
    declined.child.stdin?.end('n\n');
    const failed = await declined.catch((error) => error);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain("- Sign this policy with your agent's key before the first call.");
    expect(failed.stderr).toContain(
      'POLICY_DECLINED: The usage policy was not accepted, so nothing was signed and no intent can be executed.',
    );
  });

  beforeAll(() => api.createIntent(intentOf('height.example:get-height:v1', { intent_name: '高さ' })).then(() => undefined));

  test.each(['utf-8', 'latin-1', 'ascii'])('the Python client writes answers that %s can hold', async (encoding) => {
    const { stdout } = await shell(`export PYTHONIOENCODING=${encoding}; agent --accept-policy execute ${japan}`);
    expect(JSON.parse(stdout)).toMatchObject({ code: 'JP', name: '日本' });
    expect(stdout.includes('日本')).toBe(encoding === 'utf-8');
    const named = await shell(`export PYTHONIOENCODING=${encoding}; agent search height`);
    const name = encoding === 'utf-8' ? '高さ' : '\\u9ad8\\u3055';
    expect(named).toEqual({ code: 0, stdout: `height.example:get-height:v1  ${name}\n`, stderr: '' });
  });

  const unwritten = 'the answer cannot be written: ';
  const declined = 'POLICY_DECLINED: The usage policy was not accepted, so nothing was signed and no intent can be executed.';
  test.each([
    ['agent search country | head -c 0', `${unwritten}[Errno 32] Broken pipe`],
    ['agent search country > /dev/full', `${unwritten}[Errno 28] No space left on device`],
    ['agent --help > /dev/full', `${unwritten}[Errno 28] No space left on device`],
    ['agent search country >&-', `${unwritten}not writable`],
    [`agent --accept-policy execute ${japan} > /dev/full`, `The intent was executed, but ${unwritten}[Errno 28] No space left on device`],
    [`agent --accept-policy execute ${japan} | head -c 0`, `The intent was executed, but ${unwritten}[Errno 32] Broken pipe`],
    [`agent --accept-policy execute ${japan} >&-`, `The intent was executed, but ${unwritten}not writable`],
    [`INTENT_GATE_HOME=/dev/null/x agent --accept-policy execute ${japan}`, "[Errno 20] Not a directory: '/dev/null/x'"],
    [`agent execute ${japan} <&-`, `? [y/N] ${declined}`],
    [`agent execute ${japan} 0> /dev/null`, `? [y/N] ${declined}`],
    [`printf 'y\\377\\n' | PYTHONIOENCODING=utf-8 agent execute ${japan}`, `? [y/N] ${declined}`],
    [`echo y | agent execute ${japan} 2> /dev/full`, ''],
    [`echo y | agent execute ${japan} 2>&-`, ''],
  ])('the Python client says in a line why it fails: %s', async (line, message) => {
    const { code, stdout, stderr } = await shell(line);
    expect({ code, stdout, last: stderr.trimEnd().split('\n').at(-1) }).toEqual({
      code: 1,
      stdout: '',
      last: expect.stringContaining(message),
    });
    expect(stderr).not.toMatch(/Traceback|Exception ignored/);
    if (!message.includes('[y/N]')) expect(stderr.trimEnd()).toBe(message);
  });

  test('the Python client refuses parameters that it cannot read', async () => {
    for (const parameters of ['{"code":1e9999999999999999999}', '['.repeat(100_000)])
      expect(await python('-m', 'intent_gate', 'execute', country, parameters).catch((error) => error)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('argument parameters: must be a JSON object in quotes'),
      });
  });

  test('the Python client ends silently with Ctrl-C', async () => {
    const asking = python('-m', 'intent_gate', '--key', join(folder, 'interrupted.key'), 'execute', country, '{"code":"JP"}');
    asking.child.stderr?.on('data', (text) => String(text).includes('[y/N]') && asking.child.kill('SIGINT'));
    const { code, stdout, stderr } = await asking.catch((error) => error);
    expect({ code, stdout, last: stderr.split('\n').at(-1) }).toEqual({ code: 130, stdout: '', last: 'Accept and sign it? [y/N] ' });
  });

  test('the Python client waits for quota, resends what was lost, and asks again about a changed policy', async () => {
    const { stdout } = await python('test/client/python_faults.py');
    expect(stdout.trim().split('\n')).toEqual([
      'sent again under one key: True',
      `traced: ${`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01 `.repeat(2).trim()}`,
      'waited: True',
      'used up for one: 2 True',
      'asked twice: True',
      'asked again: True',
      'a date: True',
      'filtered: /api/intents/search?query=a+b&permitted=true&page=2',
      'read again: True',
      'not shown: UNEXPECTED_ANSWER',
      'read with: None a PAT a PAT a PAT None None 1',
      'always used up: 5',
      'lost: The call may have been made. Execute the intent again with the same idempotency key, which makes no second call. key-of-the-caller',
      "cut 503: 3 1 {'done': True}",
      'cut 422: 3 1 UNREACHABLE None None may be made',
      "page 503: 3 1 {'done': True}",
      'page 503: 3 1 UNEXPECTED_ANSWER 503 None may be made',
      'page 503 60: 1 1 UNEXPECTED_ANSWER 503 60 may be made',
      'page 502: 1 1 UNEXPECTED_ANSWER 502 None may be made',
      'moved /api/policy: 1 1 UNEXPECTED_ANSWER 302 None',
      'moved http://[: 1 1 UNEXPECTED_ANSWER 302 None',
      'page 504: 1 1 UNEXPECTED_ANSWER 504 None may be made',
      "page 429 0: 3 1 {'done': True}",
      'page 429 5: 1 1 TOO_MANY_REQUESTS 429 5',
      'of another program: 2 1 UNEXPECTED_ANSWER 302 None may be made',
      "of another program: 3 1 {'done': True}",
      "nested: 2 1 {'done': True}",
      "of another limit: 2 1 {'done': True}",
      'spent: TOO_MANY_REQUESTS: The budget "b" is used up (10.00 EUR). Try again later.',
      'spent: TOO_MANY_REQUESTS: The budget is not sufficient (10.00 EUR in 31 days). Try again later.',
      'logged: Waiting soon. TOO_MANY_REQUESTS: The limit "execute" is used up. Try again in soon.',
      'key: an idempotency_key has 1 to 255 visible ASCII characters',
      "nearest: ['NOT_FOUND: m', 'Did you mean a:c:v1, a:d:v1?']",
      'declined: PolicyDeclined POLICY_DECLINED None',
      'used up: RateLimited TOO_MANY_REQUESTS 0',
      'refused: Refusal FORBIDDEN None',
      'numbers: 9007199254740993 1.10 5000 ": {"price": 1.10, "id": 9007199254740993}}',
      `said: ['INTENT_EXECUTION_FAILED: m', 'The service said: {"why":"no\\\\u001b[2J such zone"}']`,
      "head: 201 {'location': '/a', 'x-total': '4'} None",
      'failed later: 502 66',
      'lost while awaited: The call may have been made key-of-the-caller',
      'paused: SERVICE_UNAVAILABLE: Paused. 1',
      "read while deciding: /api/intents/search?query=a ['0 permissions'] True",
      'executed while deciding: on_policy decides whether this agent may execute',
      "read while deciding, awaited: True {'done': True}",
      'awaited: True True',
      'issues, awaited: /name /größe, % ...',
      'misspelt',
      'cancelled: 1',
      'gave up: Check the address, and whether the gate is running. key-of-the-caller',
      'unconnected: Check the address, and whether the gate is running.',
    ]);
  });
});
