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
import { sequenceReceipts } from '../support/sequence-receipts.ts';

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
