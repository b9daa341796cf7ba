#!/usr/bin/env node
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { readAddress } from './address.ts';
import { IntentGateError } from './errors.ts';
import { openFileAgreementStore } from './file-agreement-store.ts';
import { openFileKeyStore } from './file-key-store.ts';
import { openHttp } from './http.ts';
import { obtainKey, obtainNamedKey } from './keys.ts';
import { openMcpBridge } from './mcp-bridge.ts';
import { openPats } from './pats.ts';
import { fetchPolicyInWords, requirePolicyOf } from './policy.ts';
import { toPrintable } from './printable.ts';

const usage = `intent-gate-mcp accept URL    shows the usage policy, and records its acceptance
intent-gate-mcp URL           serves the gate's MCP endpoint on standard input and output, with a key and PATs of its own

  --agent-id ID         the agent's name for itself; default: a name made at the first use
  --folder DIR          folder for the key, PATs and acceptance; default: ~/.intent-gate
  --yes                 accept without asking`;

/** The only place in which texts are written to a terminal. */
const say = (text: string): void => void process.stderr.write(`${toPrintable(text)}\n`);

function readGiven(text: string): string {
  try {
    return readAddress(text);
  } catch (error) {
    say(`${(error as TypeError).message}\n`);
    return '';
  }
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

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'agent-id': { type: 'string' }, folder: { type: 'string' }, yes: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
});
const isAccepting = positionals[0] === 'accept';
const given = (positionals[isAccepting ? 1 : 0] ?? '').replace(/\/+$/, '').replace(/\/mcp$/, '');
const url = URL.canParse(given) ? readGiven(given) : '';
const folder = values.folder ?? join(homedir(), '.intent-gate');
const http = openHttp({ url });
const store = openFileAgreementStore(folder);

async function accept(): Promise<void> {
  const { policy, digest, inWords } = await fetchPolicyInWords(http);
  requirePolicyOf(url, policy);
  say(['The usage policy says:', ...inWords.map((sentence) => `- ${sentence}`)].join('\n'));
  say(`\nThese are the words of the gate. What is signed is the policy itself:\n${JSON.stringify(policy, null, 2)}\n`);
  if (!values.yes && !/^y(es)?$/i.test(await ask('Accept it, for every use by this agent? [y/N] ')))
    throw new IntentGateError('POLICY_DECLINED', 'Nothing was accepted.');
  await store.save(url, { digest });
  say('Accepted.');
}

async function serve(): Promise<void> {
  const given = values['agent-id'];
  const keys = openFileKeyStore(folder);
  const signer = given === undefined ? await obtainNamedKey('mcp', keys) : { agentId: given, key: await obtainKey(given, keys) };
  // a person accepts with the other command, which leaves the acceptance in the store
  const pats = openPats({ ...signer, http, publicUrl: url, onPolicy: () => false, usesProofs: false, store });
  const answer = openMcpBridge({ http, pats, howToAccept: `accept it with: node ${process.argv[1]} accept ${url}` });
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

if (values.help || url === '') {
  say(usage);
  process.exitCode = values.help ? 0 : 2;
} else {
  await (isAccepting ? accept() : serve()).catch((error: Error) => {
    say(error.message);
    process.exitCode = 1;
  });
}
