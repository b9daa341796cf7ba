import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { connect, type ReceiptFile, receiptOf, verifyReceipt } from '../../client/connect.ts';
import { openCommandLine } from '../bin/cli/command-line.ts';
import { startApi } from '../e2e/api.ts';
import { makeFolder } from '../support/folder.ts';
import { installPythonClient } from '../support/python.ts';
import { seededRandom } from '../support/random.ts';
import { sequenceReceipts } from '../support/sequence-receipts.ts';

// A receipt of a running gate, verified by each client and by the command line, which must agree on every change to it.

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
  const { problems, report } = await verifyAll({ file: saved[name] as ReceiptFile });
  expect(problems).toEqual([[], [], [], [], []]);
  expect(report.claims).toMatchObject({ outcome: 'OK', iss: api.stack.base_url });
  const verify = ['receipt', 'verify', join(folder, `${name}.json`)];
  expect(await run(verify)).toMatchObject({ code: 0, stderr: expect.stringContaining('so a forged file would pass, too') });
  writeFileSync(join(folder, 'log-key'), saved[name]?.log_key ?? '');
  expect(await run([...verify, '--log-key', join(folder, 'log-key')])).toMatchObject({ code: 0, stderr: '' });
});

interface Case {
  file: ReceiptFile;
  log_key?: string | undefined;
  checkpoints?: string[];
}

const verifyInPython = `
import json, sys
from intent_gate import verify_receipt
for case in json.load(sys.stdin):
    report = verify_receipt(case["file"], case.get("log_key"), case.get("checkpoints", []))
    print(json.dumps([report["is_valid"], [one.get("problem", "") for one in report["checks"]]]))
`;

async function verifyInTypeScript({ file, log_key: logKey, checkpoints }: Case) {
  const report = await verifyReceipt(file, { logKey, ...(checkpoints && { checkpoints }) });
  return { report, said: [report.isValid, report.checks.map(({ problem = '' }) => problem)] };
}

async function askPython(cases: Case[]): Promise<unknown[]> {
  const child = execFile(join(python ?? '', 'bin', 'python'), ['-c', verifyInPython], { maxBuffer: 1e8 });
  let stdout = '';
  child.stdout?.on('data', (text) => {
    stdout += text;
  });
  child.stdin?.end(JSON.stringify(cases));
  await new Promise((resolve) => child.once('close', resolve));
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

async function verifyAll(one: Case) {
  const { report, said } = await verifyInTypeScript(one);
  if (python) expect(await askPython([one])).toEqual([said]);
  return { report, problems: report.checks.map(({ problem }) => (problem === undefined ? [] : [problem])) };
}

(python ? describe : describe.skip)('the clients', () => {
  test('agree on changes: any character, a missing part, foreign keys and checkpoints', async () => {
    const random = seededRandom(1);
    const file = saved.typescript as ReceiptFile;
    const names = ['receipt', 'salts', 'parameters', 'answer', 'proof', 'log_key'] as const;
    const change = (text: string, at: number) => `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
    const changed = Array.from({ length: 400 }, () => {
      const name = names[Math.floor(random() * names.length)] as (typeof names)[number];
      const text = String(file[name]);
      return { file: { ...file, [name]: change(text, Math.floor(random() * text.length)) } };
    });
    const without = [...names, 'jwks' as const].map((name) => ({ file: { ...file, [name]: undefined } as unknown as ReceiptFile }));
    const checkpoint = file.proof?.slice(file.proof.indexOf('\n\n') + 2) ?? '';
    const trusting = [
      { file, log_key: file.log_key, checkpoints: [checkpoint] },
      { file, log_key: 'other+00000000+AAAA' },
      { file, checkpoints: [change(checkpoint, checkpoint.indexOf('\n') + 1)] },
      { file, checkpoints: ['', 'a\n1\n\n— a b\n'] },
      { file: { ...(saved.cli as ReceiptFile), proof: file.proof } },
      { file: { ...file, parameters: '{"code":"JP" , "more":1.50}' } },
    ];
    const cases: Case[] = [{ file }, ...changed, ...without, ...trusting];
    const said = await Promise.all(cases.map(async (one) => (await verifyInTypeScript(one)).said));
    expect(await askPython(cases)).toEqual(said);
    expect(said.slice(1, 401).filter(([isValid]) => isValid)).toEqual([]);
    expect(said[0]?.[0]).toBe(true);
  });
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
