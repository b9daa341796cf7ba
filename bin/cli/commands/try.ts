import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import {
  connect,
  IntentGateError,
  type OnPolicy,
  type PendingExecution,
  type Policy,
  receiptOf,
  upstreamOf,
} from '../../../client/connect.ts';
import { openFileAgreementStore } from '../../../client/file-agreement-store.ts';
import { openFileKeyStore } from '../../../client/file-key-store.ts';
import { obtainNamedKey } from '../../../client/keys.ts';
import { toPrintableJson } from '../../../client/printable.ts';
import { PolicyError } from '../../../functions/core/policy/reading.ts';
import { describePolicy } from '../../../functions/core/policy/sentences.ts';
import { readAnswer } from '../../../registry/api.ts';
import { CliFailure, usageFailure } from '../../../registry/failure.ts';
import { readInput } from '../../../registry/input.ts';
import { intentPath } from '../../../registry/read.ts';
import { executionIdOf } from '../../../schemas/deferred.ts';
import { type FullIntent, fullIntent, intentPage } from '../../../schemas/intent.ts';
import { parseExact } from '../../../schemas/number.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { policy as policySchema } from '../../../schemas/policy.ts';
import { type CliContext, openContext, readJsonOrText, readPairs } from '../context.ts';
import { privateFolder } from '../session.ts';
import { showIntent } from './intents.ts';

type Values = Record<string, unknown>;

const shownHits = 5;

export function addTry(program: CommandUnknownOpts): void {
  program
    .command('try [words...]')
    .description('Act as an agent: find an intent in plain words, accept the policy, and execute the intent')
    .option('--intent <uid>', 'execute this intent instead of searching')
    .option('-p, --param <name=value...>', 'parameter; values other than strings are JSON')
    .option('--params <file>', 'file with all parameters as a JSON or YAML object; - for stdin')
    .option('--public-url <address>', 'public address of the gate, if it differs from the one used to reach it')
    .option('--agent-directory <origin>', "https origin whose Web Bot Auth directory lists the agent's key")
    .option('--receipt <file>', 'write the receipt of the execution to this file, for "receipt save"')
    .option('--accept-policy', 'sign the policy without confirmation; read it first with "policy show"')
    .action(async (words, options, command) => {
      const context = openContext(command);
      const { api, terminal } = context;
      const uid = options.intent ?? (await choose(context, words));
      const intent = readAnswer(fullIntent, await api.call('GET', intentPath(uid), { query: { view: 'full' } }));
      showIntent(terminal, intent);
      const read = (written: string, name: string) =>
        readValue(
          written,
          intent.input_parameters.find((one) => one.name === name),
        );
      const parameters = { ...(await readParameters(options.params)), ...readPairs(options.param ?? [], read) };
      const complete = { ...parameters, ...(await askMissing(context, intent, parameters)) };
      const { agentId, answer, receipt, upstream } = await execute(context, intent.intent_uid, complete, options);
      if (options.receipt !== undefined) {
        if (!receipt)
          throw new CliFailure('failure', `The intent was executed, but the gate issued no receipt: ${toPrintableJson(answer)}`);
        await writeFile(options.receipt, `${JSON.stringify(receipt, null, 2)}\n`);
      }
      terminal.say(`\n${terminal.style('bold', 'Response:')}\n${toPrintableJson(answer, 2)}`);
      // a plain 200 says nothing that the response does not
      if (upstream && (upstream.status !== 200 || Object.keys(upstream.headers).length > 0))
        terminal.say(`\n${terminal.style('bold', 'Status and header fields of the service:')}\n${toPrintableJson(upstream, 2)}`);
      terminal.json({ agent_id: agentId, intent_uid: intent.intent_uid, parameters: complete, answer, upstream });
    });
}

const maxWaitMs = 10_000;

/** Executes an intent. The command line is one agent, with the same key and name at every gate. */
async function execute(
  { api, terminal }: CliContext,
  uid: string,
  parameters: Values,
  { acceptPolicy, publicUrl, agentDirectory }: { acceptPolicy?: true; publicUrl?: string; agentDirectory?: string },
) {
  const onPolicy: OnPolicy = async (policy, _, changes = []) => {
    terminal.remark('Before its first call, an agent must accept the policy of the gate:');
    for (const sentence of describeOwn(policy, publicUrl ?? api.baseUrl)) terminal.remark(`  ${sentence}`);
    if (changes.length > 0) terminal.remark('Changes since the policy that you accepted before:');
    for (const change of changes) terminal.remark(`  ${change}`);
    if (acceptPolicy) return true;
    if (!terminal.isInteractive) throw usageFailure('There is no terminal for a prompt. Use --accept-policy to accept the policy.');
    return terminal.confirm('Accept and sign this policy?');
  };
  const folder = join(privateFolder(), 'agent');
  const agent = await obtainNamedKey('cli', openFileKeyStore(folder));
  const agreementStore = openFileAgreementStore(folder);
  const gate = await connect(api.baseUrl, {
    ...agent,
    agreementStore,
    onPolicy,
    maxWaitMs,
    parse: parseExact,
    ...(publicUrl !== undefined && { publicUrl }),
    ...(agentDirectory !== undefined && { agentDirectory }),
  });
  const wait = (state: PendingExecution) => {
    const id = executionIdOf(state);
    if (state.status === 'working') terminal.remark('The call is being made.');
    else
      terminal.remark(`The call waits for approval until ${state.expires_at}. An admin decides with: intent-gate approvals approve ${id}`);
  };
  const answer = await gate.execute(uid, parameters, { wait }).catch((error: unknown) => {
    if (!(error instanceof IntentGateError) || error.code !== 'FOREIGN_POLICY') throw error;
    throw new CliFailure('usage', `${error.message} The option is --public-url.`, { cause: error });
  });
  const head = upstreamOf(answer);
  const upstream = head && { status: head.status, headers: Object.fromEntries(head.headers) };
  return { agentId: agent.agentId, answer, receipt: receiptOf(answer), upstream };
}

/** Describes the policy to be signed without relying on the gate's own description; JSON if that is not possible. */
function describeOwn(given: Policy, address: string): string[] {
  const asItIs = JSON.stringify(given, null, 2).split('\n');
  const { data } = policySchema.safeParse(given);
  try {
    return data ? describePolicy(data, address) : asItIs;
  } catch (error) {
    if (error instanceof PolicyError) return asItIs;
    throw error;
  }
}

async function choose({ api, terminal }: CliContext, words: string[]): Promise<string> {
  if (words.length === 0) throw usageFailure('Describe in plain words what the intent should do, or pass its uid with --intent.');
  const query = { query: words.join(' '), page_size: shownHits };
  const { intents } = readAnswer(intentPage, await api.call('GET', '/api/intents/search', { query }));
  const [best] = intents;
  if (best === undefined) throw new CliFailure('failure', 'No intents found. Try other words.');
  if (!terminal.isInteractive || intents.length === 1) return best.intent_uid;
  for (const [at, { intent_name, intent_uid, service_name }] of intents.entries())
    terminal.remark(`${at + 1}. ${intent_name} (${service_name}, ${intent_uid})`);
  const answer = (await terminal.ask('Which one? [1] ')).trim() || '1';
  const chosen = intents[Number(answer) - 1];
  if (chosen === undefined) throw usageFailure('That number is not in the list.');
  return chosen.intent_uid;
}

async function readParameters(file: string | undefined): Promise<Values> {
  if (file === undefined) return {};
  const given = await readInput(file);
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw usageFailure('--params takes a file with an object of parameters.');
  return given as Values;
}

/** Takes strings literally and parses other types as JSON; if the type is unknown, valid JSON wins. The gate validates the value. */
const readValue = (written: string, parameter: Parameter | undefined): unknown =>
  parameter?.type === 'string' ? written : readJsonOrText(written);

async function askMissing({ terminal }: CliContext, { input_parameters }: FullIntent, given: Values): Promise<Values> {
  const missing = input_parameters.filter(
    ({ name, required, default: fallback }) => required && fallback === undefined && !Object.hasOwn(given, name),
  );
  if (missing.length === 0) return {};
  if (!terminal.isInteractive) {
    throw usageFailure(
      `The intent needs ${missing.map(({ name }) => name).join(', ')}. Give ${missing.length === 1 ? 'it' : 'them'} with --param name=value.`,
    );
  }
  const values: Values = {};
  for (const parameter of missing) values[parameter.name] = readValue(await terminal.ask(`${parameter.name}: `), parameter);
  return values;
}
