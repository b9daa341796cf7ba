import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { startApi } from '../../e2e/api.ts';
import { makeFolder } from '../../support/folder.ts';
import { intentOf } from '../../support/records.ts';
import { startUpstream } from '../../support/upstream.ts';
import { openCommandLine } from './command-line.ts';

const api = await startApi();
const { stack } = api;
const folder = makeFolder();
const { run } = await openCommandLine(folder, { INTENT_GATE_URL: stack.base_url, INTENT_GATE_TOKEN: stack.admin_token });
const uid = 'publish.example:call:v1';
const upstream = await startUpstream((_, response) => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"name":"x"}'));
afterAll(() => upstream.stop());
const endpoint = { url: `http://127.0.0.1:${upstream.port}/`, method: 'POST', content_type: 'application/json' } as const;
await api.createIntent(intentOf(uid, { endpoint }));

const before = JSON.parse(readFileSync('bin/local/policy.json', 'utf8'));
const file = join(folder, 'next.json');
writeFileSync(
  file,
  JSON.stringify({
    ...before,
    prohibition: [...before.prohibition, { target: `{base_url}/api/intents/${uid}`, action: 'execute' }],
  }),
);
const change = `Added: You must not execute the intent ${uid}, whatever else is permitted.\n`;

test('a policy is published, listed, undone and put on trial from the command line, and the next execution is judged by it', async () => {
  const statusOf = async () => (await api.execute(await api.obtainPat(), uid, { code: 'FR' })).status;
  const permitted = await statusOf();
  expect(permitted).toBe(200);
  expect(await run(['policy', 'publish', file, '--dry-run'])).toMatchObject({ code: 0, stdout: `${change}Nothing was published.\n` });
  expect((await run(['policy', 'publish', file])).stderr).toContain('There is no terminal for a confirmation; use --yes.');
  expect(await statusOf()).toBe(permitted);
  const published = await run(['policy', 'publish', file, '--yes']);
  const [, seq = ''] = /Published as entry (\d+); 2 agents must sign again\./.exec(published.stdout) ?? [];
  expect([published.code, published.stdout.startsWith(change), Number(seq) > 0]).toEqual([0, true, true]);
  expect(await statusOf()).toBe(403);
  expect((await run(['policy', 'publish', file, '--yes'])).stdout).toBe('This policy is in force already.\n');
  expect((await run(['policy', 'versions'])).stdout).toMatch(new RegExp(`^${seq} .* in force\n$`));
  expect(await run(['history', 'undo', seq, '--yes'])).toMatchObject({ code: 0, stdout: `Entry ${seq} is undone.\n` });
  expect(await statusOf()).toBe(permitted);
  expect((await run(['policy', 'publish', file, '--try', '--dry-run'])).stdout).toBe(`${change}Nothing was published.\n`);
  expect((await run(['policy', 'trial', '--end'])).stderr).toContain('No policy is on trial');
  expect((await run(['policy', 'publish', file, '--try'])).code).toBe(0);
  expect(await statusOf()).toBe(permitted);
  expect((await run(['policy', 'trial', '--end'])).stdout).toBe('The trial has ended.\n');
});
