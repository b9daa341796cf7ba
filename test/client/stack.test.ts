import { execFile } from 'node:child_process';
import { createPublicKey, randomBytes, randomUUID, verify } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from '@jest/globals';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { connect, type KeyStore, Refusal } from '../../client/connect.ts';
import { openFileKeyStore } from '../../client/file-key-store.ts';
import { fullIntent, intentPage } from '../../schemas/intent.ts';
import { startApi } from '../e2e/api.ts';

const api = await startApi({ demo: true });
const baseUrl = api.stack.base_url;
const folder = mkdtempSync(join(tmpdir(), 'client-'));
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await api.stop();
});

const run = promisify(execFile);
const country = 'world.example:get-country:v1';

describe('in Node', () => {
  test('finds, reads and executes; the next run goes by the same key', async () => {
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

  test('an agent_id that belongs to another key is refused', async () => {
    const agentId = `agent-${randomUUID()}`;
    const open = () => connect(baseUrl, { agentId, onPolicy: () => true });
    await (await open()).execute(country, { code: 'JP' });
    const error = await (await open()).execute(country, { code: 'JP' }).catch((caught) => caught);
    expect(error).toBeInstanceOf(Refusal);
    expect(error).toMatchObject({ code: 'POLICY_REJECTED', details: { reason: 'agent_id_bound' }, requestId: expect.any(String) });
  });
});

describe('as a server of MCP on standard input and output', () => {
  const program = (...args: string[]) => ['client/mcp-stdio.ts', ...args, '--folder', join(folder, 'mcp')];

  async function open(version: string, ...args: string[]): Promise<Client> {
    const mode = version === '2026-07-28' ? { pin: version } : 'legacy';
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(new StdioClientTransport({ command: process.execPath, args: program(baseUrl, ...args), stderr: 'inherit' }));
    return client;
  }
  const execute = async (client: Client) => {
    const { isError, content } = await client.callTool({
      name: 'execute_intent',
      arguments: { intent_uid: country, parameters: { code: 'JP' } },
    });
    return { isError, text: (content as { text: string }[])[0]?.text };
  };

  test('tells the person to accept the policy, then executes with a PAT of its own', async () => {
    for (const version of ['2025-11-25', '2026-07-28']) {
      const client = await open(version);
      const { tools } = await client.listTools();
      expect(tools).toHaveLength(4);
      expect(await execute(client)).toEqual({
        isError: true,
        text: expect.stringContaining(`mcp-stdio.ts accept ${baseUrl}`),
      });
      await client.close();
    }
    const accepted = await run(process.execPath, program('accept', baseUrl, '--yes'));
    expect(accepted.stderr).toContain('- You must not exceed the rate limit.');
    for (const version of ['2025-11-25', '2026-07-28']) {
      const client = await open(version);
      expect(await execute(client)).toEqual({ isError: false, text: expect.stringContaining('Japan') });
      await client.close();
    }
  });

  test('accepts nothing without being told so', async () => {
    const asked = run(process.execPath, ['client/mcp-stdio.ts', 'accept', baseUrl, '--folder', join(folder, 'nobody')]);
    asked.child.stdin?.end('n\n');
    const failed = await asked.catch((error) => error);
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('Nothing was accepted.') });
  });
});

const browser = '/usr/bin/chromium';

(existsSync(browser) ? describe : describe.skip)('in a browser', () => {
  test('keeps a key that cannot be copied, over a reload', async () => {
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
    const running = await chromium.launch({ executablePath: browser, args: ['--no-sandbox'] });
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

const python = (...args: string[]) =>
  run('python3', args, { env: { ...process.env, BASE_URL: baseUrl, PYTHONPATH: 'client/python', PYTHONDONTWRITEBYTECODE: '1' } });
const program = 'client/python/intent_gate.py';
const hasPython = await run('python3', ['--version']).then(
  () => true,
  () => false,
);

(hasPython ? describe : describe.skip)('in Python', () => {
  test('signs as Node verifies', async () => {
    const cases = Array.from({ length: 40 }, (_, length) => ({
      seed: randomBytes(32).toString('hex'),
      message: randomBytes(length * 7).toString('hex'),
    }));
    const { stdout } = await python(
      '-c',
      `import json, sys, intent_gate as g
print(json.dumps([[g.ed25519_public_key(bytes.fromhex(c["seed"])).hex(), g.ed25519_sign(bytes.fromhex(c["seed"]), bytes.fromhex(c["message"])).hex()] for c in json.loads(sys.argv[1])]))`,
      JSON.stringify(cases),
    );
    const signed = JSON.parse(stdout) as [string, string][];
    expect(signed).toHaveLength(cases.length);
    for (const [index, [publicKey, signature]] of signed.entries()) {
      const key = createPublicKey({
        key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey, 'hex').toString('base64url') },
        format: 'jwk',
      });
      expect(verify(null, Buffer.from(cases[index]?.message ?? '', 'hex'), key, Buffer.from(signature, 'hex'))).toBe(true);
    }
  });

  test.each([
    // RFC 8032 section 7.1, tests 1 and 2
    [
      '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
      '',
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
    ],
    [
      '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
      '72',
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
    ],
  ])('makes the signature of the RFC over %s', async (seed, message, signature) => {
    const { stdout } = await python(
      '-c',
      'import sys, intent_gate as g; print(g.ed25519_sign(bytes.fromhex(sys.argv[1]), bytes.fromhex(sys.argv[2])).hex())',
      seed,
      message,
    );
    expect(stdout.trim()).toBe(signature);
  });

  test('finds, reads and executes from a shell, with a key of its own', async () => {
    const key = join(folder, 'python.key');
    const command = (...args: string[]) => python(program, '--key', key, ...args);
    expect((await command('policy')).stdout).toContain('You may execute every intent, at most 60 in any minute.');
    expect((await command('search', 'which country has this code')).stdout).toContain(country);
    expect(JSON.parse((await command('get', country)).stdout).intent_uid).toBe(country);
    for (const code of ['JP', 'FR']) {
      const { stdout } = await command('--accept-policy', 'execute', country, JSON.stringify({ code }));
      expect(JSON.parse(stdout).code).toBe(code);
    }
    expect(statSync(key).mode & 0o777).toBe(0o600);
  });

  test('says what is wrong, and fails', async () => {
    const failed = await python(program, '--key', join(folder, 'other.key'), '--accept-policy', 'execute', country, '{}').catch(
      (error) => error,
    );
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain('INVALID_PARAMETER: ');
    expect(failed.stderr).toContain('  /parameters/code is required');
  });

  test('signs nothing that is not accepted', async () => {
    const declined = python(program, '--key', join(folder, 'third.key'), 'execute', country, '{"code":"JP"}');
    declined.child.stdin?.end('n\n');
    const failed = await declined.catch((error) => error);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain('- You must not exceed the rate limit.');
    expect(failed.stderr).toContain('POLICY_DECLINED: The usage policy was not accepted, so nothing can be executed.');
  });

  test('waits for quota, sends again what was lost, and accepts a changed policy anew', async () => {
    const { stdout } = await python('test/client/python_faults.py');
    expect(stdout.trim().split('\n')).toEqual([
      'sent again under one key: True',
      'waited: True',
      'asked twice: True',
      'gave up: UNREACHABLE',
    ]);
  });
});
