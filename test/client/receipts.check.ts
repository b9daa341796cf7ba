import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { connect, type ReceiptFile, receiptOf, verifyReceipt } from '../../client/connect.ts';
import { openCommandLine } from '../bin/cli/command-line.ts';
import { startApi } from '../e2e/api.ts';
import { makeFolder } from '../support/folder.ts';
import { installPythonClient } from '../support/python.ts';
import { buildLog, newEvidenceKeys } from '../support/receipts/evidence-log.ts';
import { sequenceReceipts } from '../support/receipts/sequence.ts';

// Receipts of a running gate that each client keeps, verified by the TypeScript client and by the command line.

const api = await startApi({ demo: true });
const python = await installPythonClient();
const folder = makeFolder();
const { run } = await openCommandLine(folder, { INTENT_GATE_URL: api.stack.base_url });

const uid = 'world.example:get-country:v1';
const client = await connect(api.stack.base_url, { agentId: 'typescript', onPolicy: () => true });
const kept: Record<string, ReceiptFile | undefined> = { typescript: receiptOf(await client.execute(uid, { code: 'JP' })) };
const ask = `
import json, sys
from decimal import Decimal
from intent_gate import IntentGate, Key, receipt_of
gate = IntentGate(sys.argv[1], "python", Key.at(sys.argv[2]), lambda *_: True)
print(json.dumps(receipt_of(gate.execute("${uid}", {"code": "FR"}))))
`;
if (python) {
  const { stdout } = await promisify(execFile)(join(python, 'bin', 'python'), ['-c', ask, api.stack.base_url, join(folder, 'python.key')]);
  kept.python = JSON.parse(stdout);
}
await run(['try', '--intent', uid, '--param', 'code=CH', '--accept-policy', '--receipt', join(folder, 'cli.json')]);
kept.cli = JSON.parse(readFileSync(join(folder, 'cli.json'), 'utf8'));

/** With the proof. */
async function save(name: string): Promise<ReceiptFile> {
  const file = join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify(kept[name]));
  expect(await run(['receipt', 'save', file])).toMatchObject({ code: 0 });
  return JSON.parse(readFileSync(file, 'utf8'));
}
await sequenceReceipts(api.stack);
const saved: Record<string, ReceiptFile> = {};
for (const name of Object.keys(kept)) saved[name] = await save(name);

test.each(Object.keys(kept))('the receipt that the client %s kept is verified offline', async (name) => {
  const { checks, claims } = await verifyReceipt(saved[name] as ReceiptFile);
  expect(checks.filter(({ problem }) => problem)).toEqual([]);
  expect(claims).toMatchObject({ outcome: 'OK', iss: api.stack.base_url });
  const verify = ['receipt', 'verify', join(folder, `${name}.json`)];
  expect(await run(verify)).toMatchObject({ code: 0, stderr: expect.stringContaining('so a forged file would pass, too') });
  writeFileSync(join(folder, 'log-key'), saved[name]?.log_key ?? '');
  expect(await run([...verify, '--log-key', join(folder, 'log-key')])).toMatchObject({ code: 0, stderr: '' });
});

test('a receipt that cannot be written costs neither the answer nor the receipt', async () => {
  const execute = (...options: string[]) => run(['try', '--intent', uid, '--param', 'code=AT', '--json', '--receipt', ...options]);
  const { code, stdout, stderr } = await execute(join(folder, 'nowhere', 'r.json'));
  expect({ code, name: JSON.parse(stdout).answer.name }).toEqual({ code: 3, name: 'Austria' });
  const [, key = ''] = /The intent was executed, .*ENOENT.* --idempotency-key (\S+) and another file\./.exec(stderr) ?? [];
  const file = join(folder, 'again.json');
  expect(await execute(file, '--idempotency-key', key)).toMatchObject({ code: 0 });
  expect(JSON.parse(JSON.parse(readFileSync(file, 'utf8')).answer)).toEqual(JSON.parse(stdout).answer);
});

test('a receipt file that is not complete is not called false, and the message says how to complete it', async () => {
  const { receipt, log_key } = saved.typescript as ReceiptFile;
  const file = join(folder, 'incomplete.json');
  writeFileSync(file, JSON.stringify({ receipt, log_key }));
  expect(await run(['receipt', 'verify', file])).toEqual({
    code: 3,
    stdout: '',
    stderr: `${file} cannot be verified yet: it lacks jwks, proof. Add them with: intent-gate receipt save ${file}\n`,
  });
});

/** Runs a command on a file with this content, and returns how it ended with the content of the file. */
async function runOn(file: ReceiptFile, kept: string, words: (file: string, kept: string) => string[]) {
  const [path, keptPath] = [join(folder, 'file.json'), join(folder, 'kept')];
  writeFileSync(path, JSON.stringify(file));
  writeFileSync(keptPath, kept);
  const { code, stdout, stderr } = await run(words(path, keptPath));
  return { code, said: stdout + stderr, file: JSON.parse(readFileSync(path, 'utf8')) as ReceiptFile };
}
const verifyWith = (file: string, kept: string) => ['receipt', 'verify', file, '--log-key', join(folder, 'log-key'), '--checkpoint', kept];
const noProof = /checkpoint that was kept +not compared: the file has no consistency proof from \d+ to \d+ entries/;

test('a receipt of a running gate is compared with a checkpoint of a smaller log', async () => {
  writeFileSync(join(folder, 'log-key'), saved.typescript?.log_key ?? '');
  const kept = await (await fetch(`${api.stack.base_url}/log/checkpoint`)).text();
  for (const code of ['JP', 'FR', 'CH', 'IT']) await client.execute(uid, { code });
  await sequenceReceipts(api.stack);
  const without = await runOn(saved.typescript as ReceiptFile, kept, (file) => ['receipt', 'save', file]);
  const notCompared = await runOn(without.file, kept, verifyWith);
  expect(notCompared).toMatchObject({ code: 2, said: expect.stringMatching(noProof) });
  expect(notCompared.said).toMatch(/The receipt was not compared with what you kept\.\n$/);
  const whole = await runOn(without.file, kept, (file, checkpoint) => ['receipt', 'save', '--checkpoint', checkpoint, file]);
  expect(whole).toMatchObject({ code: 0, said: expect.stringMatching(/^Saved in /) });
  expect(await runOn(whole.file, kept, verifyWith)).toMatchObject({
    code: 0,
    said: expect.stringMatching(/checkpoint that was kept +passed/),
  });
});

test('a rewritten log cannot pass for the one whose checkpoint was kept', async () => {
  const keys = await newEvidenceKeys();
  writeFileSync(join(folder, 'log-key'), keys.log_key);
  const receipts = Array.from({ length: 12 }, () => keys.issue());
  const kept = (await buildLog(keys, receipts, [6])).checkpoint();
  const rewritten = await buildLog(keys, receipts.with(2, keys.issue('{"name":"Forged"}')), [6, 12]);
  const forged = await rewritten.fileOf(2);
  expect(await runOn(forged, kept, verifyWith)).toMatchObject({ code: 2, said: expect.stringMatching(noProof) });
  const { url, stop } = await rewritten.serve();
  const whole = await runOn(forged, kept, (file, checkpoint) => ['--url', url, 'receipt', 'save', file, '--checkpoint', checkpoint]);
  await stop();
  const problem = 'The consistency proof does not lead from the checkpoint that was kept';
  expect(whole).toMatchObject({ code: 2, said: expect.stringMatching(new RegExp(`^Saved in .*, but: ${problem}`)) });
  const verified = await runOn(whole.file, kept, verifyWith);
  expect(verified).toMatchObject({ code: 2, said: expect.stringMatching(new RegExp(`checkpoint that was kept +${problem}`)) });
  expect(verified.said).toMatch(/The receipt does not verify\.\n$/);
});

test('the command line names the directory of its agent', async () => {
  for (const [command, ...args] of [
    ['try', '--intent', uid, '--param', 'code=JP', '--accept-policy'],
    ['mcp', 'accept', api.stack.base_url, '--yes', '--folder', folder],
  ] as const)
    expect(await run([command, ...args, '--agent-directory', 'https://127.0.0.1:1'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('/agent_directory must be the https origin of a public host that answers'),
    });
});
