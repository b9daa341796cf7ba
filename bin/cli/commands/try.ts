import { join } from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { connect, IntentGateError, type OnPolicy, type Policy } from '../../../client/connect.ts';
import { openFileAgreementStore } from '../../../client/file-agreement-store.ts';
import { openFileKeyStore } from '../../../client/file-key-store.ts';
import { obtainNamedKey } from '../../../client/keys.ts';
import { toPrintableJson } from '../../../client/printable.ts';
import { describePolicy } from '../../../functions/core/policy/describe.ts';
import { PolicyError } from '../../../functions/core/policy/reading.ts';
import { type FullIntent, fullIntent, intentPage } from '../../../schemas/intent.ts';
import { parseExact } from '../../../schemas/number.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { policy as policySchema } from '../../../schemas/policy.ts';
import { readAnswer } from '../../probes.ts';
import { type CliContext, openContext } from '../context.ts';
import { CliFailure, usageFailure } from '../failure.ts';
import { readInput } from '../input.ts';
import { intentPath } from '../registry/read.ts';
import { privateFolder } from '../session.ts';
import { showIntent } from './intents.ts';

type Values = Record<string, unknown>;

const shownHits = 5;

export function addTry(program: CommandUnknownOpts): void {
  program
    .command('try [words...]')
    .description('Be an agent: find an intent in plain words, accept the policy, execute the intent, see the answer')
    .option('--intent <uid>', 'this intent, in place of a search')
    .option('-p, --param <name=value...>', 'a parameter; anything but a string is written as JSON')
    .option('--params <file>', 'all parameters as a JSON or YAML object in a file; - for stdin')
    .option('--public-url <address>', "the gate's own address for itself, if it differs from the one at which it is reached")
    .option('--accept-policy', 'sign the policy without asking; read it first with "policy show"')
    .action(async (words, options, command) => {
      const context = openContext(command);
      const { api, terminal } = context;
      const uid = options.intent ?? (await choose(context, words));
      const intent = readAnswer(fullIntent, await api.call('GET', intentPath(uid), { query: { view: 'full' } }));
      showIntent(terminal, intent);
      const parameters = { ...(await readParameters(options.params)), ...readPairs(intent, options.param ?? []) };
      const complete = { ...parameters, ...(await askMissing(context, intent, parameters)) };
      const { agentId, answer } = await execute(context, intent.intent_uid, complete, options);
      terminal.say(`\n${terminal.style('bold', 'The answer:')}\n${toPrintableJson(answer, 2)}`);
      terminal.json({ agent_id: agentId, intent_uid: intent.intent_uid, parameters: complete, answer });
    });
}

/** A person waits no longer than this for quota or for an unavailable gate. */
const maxWaitMs = 10_000;

/** This command line is an agent: one key and one name for all gates, and a PAT for each. */
async function execute(
  { api, terminal }: CliContext,
  uid: string,
  parameters: Values,
  { acceptPolicy, publicUrl }: { acceptPolicy?: true; publicUrl?: string },
) {
  const onPolicy: OnPolicy = async (policy, _, changes = []) => {
    terminal.remark('Before the first call an agent has to accept the policy of the gate:');
    for (const sentence of describeOwn(policy, publicUrl ?? api.baseUrl)) terminal.remark(`  ${sentence}`);
    if (changes.length > 0) terminal.remark('What is different from the policy that was accepted before:');
    for (const change of changes) terminal.remark(`  ${change}`);
    if (acceptPolicy) return true;
    if (!terminal.isInteractive) throw usageFailure('There is no terminal to ask on whether the policy is accepted; give --accept-policy.');
    return terminal.confirm('Sign it?');
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
  });
  const answer = await gate.execute(uid, parameters).catch((error: unknown) => {
    if (!(error instanceof IntentGateError) || error.code !== 'FOREIGN_POLICY') throw error;
    throw new CliFailure('usage', `${error.message} The option is --public-url.`, { cause: error });
  });
  return { agentId: agent.agentId, answer };
}

/** What the policy says, made from what will be signed and not from what the gate says about it; the policy itself if this program does not understand it. */
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

/** The best hit, or the one that the person picks if there is a terminal to ask on. */
async function choose({ api, terminal }: CliContext, words: string[]): Promise<string> {
  if (words.length === 0) throw usageFailure('What should the intent do? Say it in plain words, or name one with --intent.');
  const query = { query: words.join(' '), page_size: shownHits };
  const { intents } = readAnswer(intentPage, await api.call('GET', '/api/intents/search', { query }));
  const [best] = intents;
  if (best === undefined) throw new CliFailure('failure', 'No intent was found. Try other words.');
  if (!terminal.isInteractive || intents.length === 1) return best.intent_uid;
  for (const [at, { intent_name, intent_uid, service_name }] of intents.entries())
    terminal.remark(`${at + 1}. ${intent_name} (${service_name}, ${intent_uid})`);
  const answer = (await terminal.ask('Which one? [1] ')).trim() || '1';
  const chosen = intents[Number(answer) - 1];
  if (chosen === undefined) throw usageFailure('There is no such number.');
  return chosen.intent_uid;
}

async function readParameters(file: string | undefined): Promise<Values> {
  if (file === undefined) return {};
  const given = await readInput(file);
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw usageFailure('--params takes an object of parameters.');
  return given as Values;
}

function readPairs({ input_parameters }: FullIntent, pairs: string[]): Values {
  const known = new Map(input_parameters.map((parameter) => [parameter.name, parameter]));
  const read = ([, name, written]: string[]) => {
    if (name === undefined || written === undefined) throw usageFailure('--param takes name=value.');
    return [name, readValue(written, known.get(name))];
  };
  return Object.fromEntries(pairs.map((pair) => read(/^([^=]+)=(.*)$/s.exec(pair) ?? [])));
}

/** A string is taken as written, anything else as JSON. If a parameter may be either, a valid JSON value is taken as JSON. */
function readValue(written: string, parameter: Parameter | undefined): unknown {
  if (parameter?.type === 'string') return written;
  try {
    return parseExact(written);
  } catch {
    // the gate says what is wrong with it
    return written;
  }
}

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
