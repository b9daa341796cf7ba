import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { IntentGateError } from './errors.ts';
import { openFileKeyStore } from './file-key-store.ts';
import { openHttp } from './http.ts';
import { obtainKey } from './keys.ts';
import { openMcpBridge } from './mcp-bridge.ts';
import { openPats } from './pats.ts';
import { canonicalText, describePolicy } from './policy-words.ts';
import type { Policy } from './types.ts';

const usage = `mcp-stdio accept URL    shows the usage policy, and keeps that it was accepted
mcp-stdio URL           serves the service's MCP endpoint on standard input and output, with a key and PATs of its own

  --agent-id ID         how the agent calls itself; default: a name made at the first use
  --folder DIR          where key and acceptance are kept; default: ~/.intent-gate
  --yes                 accept without asking`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'agent-id': { type: 'string' }, folder: { type: 'string' }, yes: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
});
const isAccepting = positionals[0] === 'accept';
const url = (positionals[isAccepting ? 1 : 0] ?? '').replace(/\/+$/, '').replace(/\/mcp$/, '');
const folder = values.folder ?? join(homedir(), '.intent-gate');
const http = openHttp({ url, fetch, attempts: 4, waitAtMostMs: 90_000, timeoutMs: 35_000 });

/** Which policy was accepted for which service: its canonical text. */
const acceptedFile = join(folder, `accepted-${createHash('sha256').update(url).digest('hex').slice(0, 16)}.json`);

function isAccepted(policy: Policy): boolean {
  try {
    return readFileSync(acceptedFile, 'utf8') === canonicalText(policy);
  } catch {
    return false;
  }
}

async function accept(): Promise<void> {
  const policy = (await http.send({ method: 'GET', path: '/api/policy' })) as Policy;
  console.error(['The usage policy says:', ...describePolicy(policy, url).map((sentence) => `- ${sentence}`)].join('\n'));
  if (!values.yes && !/^y(es)?$/i.test(await ask('Accept it, for every use by this agent? [y/N] ')))
    throw new IntentGateError('POLICY_DECLINED', 'Nothing was accepted.');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(acceptedFile, canonicalText(policy), { mode: 0o600 });
  console.error('Accepted.');
}

function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    terminal.once('close', () => resolve(''));
    terminal.question(question, (line) => {
      resolve(line.trim());
      terminal.close();
    });
  });
}

async function serve(): Promise<void> {
  const agentId = values['agent-id'] ?? 'mcp';
  const key = await obtainKey(agentId, openFileKeyStore(folder));
  const name =
    values['agent-id'] ??
    `mcp-${createHash('sha256')
      .update(JSON.stringify(await crypto.subtle.exportKey('jwk', key.publicKey)))
      .digest('hex')
      .slice(0, 12)}`;
  const pats = openPats({ http, key, agentId: name, publicUrl: url, onPolicy: isAccepted, usesProofs: false });
  const answer = openMcpBridge({ url, fetch, pats, howToAccept: `accept it with: node ${process.argv[1]} accept ${url}` });
  const write = (message: object) => process.stdout.write(`${JSON.stringify(message)}\n`);
  const waiting = new Set<Promise<void>>();
  for await (const line of createInterface({ input: process.stdin })) {
    const work = answer(line).then((message) => {
      if (message) write(message);
    });
    waiting.add(work);
    void work.finally(() => waiting.delete(work));
  }
  await Promise.all(waiting);
}

if (values.help || !URL.canParse(url)) {
  console.error(usage);
  process.exitCode = values.help ? 0 : 2;
} else {
  await (isAccepting ? accept() : serve()).catch((error: Error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
