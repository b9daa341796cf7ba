import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import { openCommandLine } from '../bin/cli/command-line.ts';
import { startApi } from '../e2e/api.ts';
import { makeFolder } from '../support/folder.ts';
import { installPythonClient } from '../support/python.ts';
import { startRelay } from '../support/relay.ts';
import { toolCall } from '../support/tool-call.ts';

// A gate presents the policy of another gate, its victim, and uses there what agents sign.

const country = 'world.example:get-country:v1';
const { stack } = await startApi({ demo: true });
const python = await installPythonClient();
const relay = await startRelay(stack.base_url);
afterAll(() => relay.stop());
const folder = makeFolder();

const run = (program: string, words: readonly string[], environment: Record<string, string> = {}) =>
  promisify(execFile)(program, [...words], {
    env: { ...process.env, HOME: folder, ...environment },
    cwd: environment.CWD ?? process.cwd(),
  }).catch((error) => error);
const refusal = `The policy is not that of ${relay.url} but of ${stack.base_url}`;

test('the command line signs nothing', async () => {
  const { run: intentGate } = await openCommandLine(folder);
  const { code, stderr } = await intentGate(['--url', relay.url, 'try', '--intent', country, '-p', 'code=JP', '--accept-policy']);
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining(`${refusal}, so nothing was signed.`) });
  expect(relay.issueRequests()).toEqual([]);
});

test('the MCP program accepts nothing', async () => {
  const { code, stderr } = await run(process.execPath, [
    'client/mcp-stdio.ts',
    'accept',
    relay.url,
    '--yes',
    '--folder',
    join(folder, 'mcp'),
  ]);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(refusal) });
});

(python ? test : test.skip)('the Python client signs nothing', async () => {
  const words = ['--url', relay.url, '--key', join(folder, 'python.key'), '--accept-policy', 'execute', country, '{"code":"JP"}'];
  const { code, stderr } = await run(join(python ?? '', 'bin', 'intent-gate-agent'), words);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining(`FOREIGN_POLICY: The policy is not that of ${relay.url} but of ${stack.base_url}`),
  });
  expect(relay.issueRequests()).toEqual([]);
});

const blocksOf = async (page: string, isMeant: (block: string) => boolean) =>
  [...(await readFile(page, 'utf8')).matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block).filter(isMeant);

test.each(['docs/agents.md'])('what the commands in %s sign for one gate is refused by another', async (page) => {
  const before = relay.issueRequests().length;
  const [block = ''] = await blocksOf(page, (text) => text.includes('/api/pat/issue'));
  const failed = await run('bash', ['-euo', 'pipefail', '-c', block], { BASE_URL: relay.url, CWD: folder });
  // a refusal must not pass for a PAT
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('PAT: {"error":{"code":"INVALID_SIGNATURE"') });
  const [body] = relay.issueRequests().slice(before);
  expect(body).toBeDefined();
  const answer = await fetch(`${stack.base_url}/api/pat/issue`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: String(body),
  });
  expect({ status: answer.status, body: await answer.json() }).toMatchObject({
    status: 400,
    body: { error: { code: 'INVALID_SIGNATURE', message: expect.stringContaining('The aud of the signed policy') } },
  });
});

test('the commands that accept_policy gives a model sign only for that gate, and for a short time', async () => {
  const answer = await fetch(`${stack.base_url}/mcp`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
    body: JSON.stringify(toolCall('accept_policy', {})),
  });
  const { how_to_sign } = ((await answer.json()) as { result: { structuredContent: { how_to_sign: string[] } } }).result.structuredContent;
  const repository = await mkdtemp(join(folder, 'repository-'));
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', how_to_sign.slice(1).join('\n')], { CWD: repository });
  expect(await readdir(repository)).toEqual([]);
  expect((await stat(join(folder, '.intent-gate'))).mode & 0o777).toBe(0o700);
  expect((await stat(join(folder, '.intent-gate', 'agent-rsa-key.pem'))).mode & 0o777).toBe(0o600);
  const [signed = '', publicKey = ''] = stdout.trim().split('\n');
  const claims = JSON.parse(Buffer.from(signed.split('.')[0] ?? '', 'base64url').toString());
  expect(claims).toEqual({
    alg: 'RS256',
    aud: stack.base_url,
    iat: claims.iat,
    exp: expect.any(Number),
    jti: expect.stringMatching(/^[0-9a-f]{32}$/),
  });
  expect(claims.exp - claims.iat).toBeLessThanOrEqual(121);
  const issued = await fetch(`${stack.base_url}/api/pat/issue`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ agent_id: `model-${claims.jti}`, signed_policy: signed, agent_public_key: publicKey }),
  });
  expect(issued.status).toBe(200);
});
