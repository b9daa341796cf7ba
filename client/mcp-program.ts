import { homedir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { IntentGateError } from './errors.ts';
import { openFileAgreementStore } from './file-agreement-store.ts';
import { openFileKeyStore } from './file-key-store.ts';
import { openHttp } from './http.ts';
import { obtainKey, obtainNamedKey } from './keys.ts';
import { readLines, toLine } from './lines.ts';
import { openMcpBridge } from './mcp-bridge.ts';
import { openPats, type Signer } from './pats.ts';
import { toPrintable } from './printable.ts';

export interface McpOptions {
  /** without a trailing slash */
  url: string;
  /** default: derived from its key */
  agentId?: string | undefined;
  /** default: `INTENT_GATE_HOME`, else `~/.intent-gate` */
  folder?: string | undefined;
  publicUrl?: string | undefined;
  /** https origin whose directory lists the agent's key */
  agentDirectory?: string | undefined;
  /** command line that starts this program in a terminal */
  program: readonly string[];
}

const usualFolder = (): string => join(homedir() || userInfo().homedir, '.intent-gate');

const folderOf = ({ folder }: McpOptions): string => resolve(folder || process.env.INTENT_GATE_HOME || usualFolder());

async function obtainSigner(options: McpOptions): Promise<Signer> {
  const { agentId, agentDirectory } = options;
  const keys = openFileKeyStore(folderOf(options));
  const agent = agentId === undefined ? await obtainNamedKey('mcp', keys) : { agentId, key: await obtainKey(agentId, keys) };
  return { ...agent, agentDirectory };
}

const quoteForShell = (words: readonly string[]): string =>
  words
    .map((word) => {
      if (/^[\w@%+=:,./\\-]+$/.test(word) && (process.platform === 'win32' || !word.includes('\\'))) return word;
      return process.platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", `'\\''`)}'`;
    })
    .join(' ');

/** Arguments for the same agent and gate, valid in any working directory. */
export function mcpArguments(options: McpOptions): string[] {
  const { url, agentId, agentDirectory, publicUrl } = options;
  const folder = folderOf(options);
  return [
    url,
    ...(agentId === undefined ? [] : ['--agent-id', agentId]),
    ...(folder === usualFolder() ? [] : ['--folder', folder]),
    ...(publicUrl === undefined ? [] : ['--public-url', publicUrl]),
    ...(agentDirectory === undefined ? [] : ['--agent-directory', agentDirectory]),
  ];
}

/**
 * Shows the policy, signs it if confirmed, and gets a PAT, which reveals problems immediately.
 * @throws IntentGateError
 */
export async function acceptForMcp(options: McpOptions, confirm: () => Promise<boolean>): Promise<Signer> {
  const { url, publicUrl = url } = options;
  const signer = await obtainSigner(options);
  const store = openFileAgreementStore(folderOf(options));
  const pats = openPats({
    ...signer,
    http: openHttp({ url }),
    publicUrl,
    usesProofs: false,
    // loads nothing, so that it asks even if the policy is already accepted
    store: { load: async () => undefined, save: store.save },
    onPolicy: (policy, inWords) => {
      say(['The usage policy says:', ...inWords.map((sentence) => `- ${sentence}`)].join('\n'));
      say(`\nThese sentences are the gate's. You sign the policy itself:\n${JSON.stringify(policy, null, 2)}\n`);
      return confirm();
    },
  });
  await pats.obtain().catch((error: unknown) => {
    if (!(error instanceof IntentGateError)) throw error;
    const said: Record<string, string> = {
      POLICY_DECLINED: 'Nothing was accepted.',
      FOREIGN_POLICY: `${error.message} The option is --public-url.`,
    };
    const message = said[error.code];
    throw message === undefined ? error : new IntentGateError(error.code, message, { cause: error });
  });
  say(`Accepted. The agent ${signer.agentId} may now execute intents.`);
  return signer;
}

/** Serves MCP on stdin and stdout until stdin ends. @throws IntentGateError if the key cannot be read */
export async function serveMcp(options: McpOptions): Promise<void> {
  const { url, publicUrl = url, program } = options;
  const write = (message: object) => process.stdout.write(toLine(message));
  const bridge = openMcpBridge({
    http: openHttp({ url }),
    publicUrl,
    signer: await obtainSigner(options),
    store: openFileAgreementStore(folderOf(options)),
    acceptCommand: quoteForShell([...program, 'accept', ...mcpArguments(options)]),
    send: write,
  });
  const waiting = new Set<Promise<void>>();
  for await (const line of readLines(process.stdin)) {
    const work = bridge.answer(line).then((message) => {
      if (message) write(message);
    });
    waiting.add(work);
    void work.finally(() => waiting.delete(work));
  }
  bridge.close();
  await Promise.all(waiting);
}

export const say = (text: string): void => void process.stderr.write(`${toPrintable(text)}\n`);

/** Asks a question; no answer counts as no. */
export async function confirmOnTerminal(question: string): Promise<boolean> {
  process.stderr.write(`${question} [y/N] `);
  const { value = '' } = await readLines(process.stdin).next();
  process.stdin.destroy();
  return /^y(es)?$/i.test(value.trim());
}
