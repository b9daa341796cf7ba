import type { Command } from 'commander';
import { type FullIntent, fullIntent, intentPage } from '../../../schemas/intent.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { forgetPat, obtainPat } from '../agent/handshake.ts';
import { ApiFailure, type Reply } from '../api.ts';
import { type Context, openContext } from '../context.ts';
import { CliFailure, usageFailure } from '../failure.ts';
import { readInput } from '../input.ts';
import { intentPath, readBody } from '../registry/read.ts';
import { showIntent } from './intents.ts';
import { describeTerms } from './policy.ts';

interface TryOptions {
  intent?: string;
  param?: string[];
  params?: string;
  acceptPolicy?: boolean;
}

type Values = Record<string, unknown>;

const shownHits = 5;

export function addTry(program: Command): void {
  program
    .command('try [words...]')
    .description('Be an agent: find an intent in plain words, accept the policy, execute the intent, see the answer')
    .option('--intent <uid>', 'this intent, in place of a search')
    .option('-p, --param <name=value...>', 'a parameter; what is no text is written as JSON')
    .option('--params <file>', 'all parameters as a JSON or YAML object in a file; - for stdin')
    .option('--accept-policy', 'sign the policy without asking; read it first with "policy show"')
    .action((words: string[], options: TryOptions, command: Command) => runTry(openContext(command), words, options));
}

async function runTry(context: Context, words: string[], options: TryOptions): Promise<void> {
  const { api, terminal } = context;
  const uid = options.intent ?? (await choose(context, words));
  const intent = readBody(fullIntent, await api.call('GET', intentPath(uid), { query: { view: 'full' } }));
  showIntent(terminal, intent);
  const parameters = { ...(await readParameters(options)), ...readPairs(intent, options.param ?? []) };
  const complete = { ...parameters, ...(await askMissing(context, intent, parameters)) };
  const accept = async (policy: Parameters<typeof describeTerms>[0]) => {
    terminal.remark('Before the first call an agent has to accept the policy of the service:');
    for (const sentence of describeTerms(policy, api.baseUrl)) terminal.remark(`  ${sentence}`);
    if (options.acceptPolicy) return true;
    if (!terminal.isInteractive) throw usageFailure('Nobody can be asked here whether the policy is accepted: say --accept-policy.');
    return terminal.confirm('Sign it?');
  };
  const { body, text } = await execute(context, intent.intent_uid, complete, accept);
  terminal.say();
  terminal.say(terminal.style('bold', 'The answer:'));
  terminal.say(body === undefined ? text : JSON.stringify(body, null, 2));
  terminal.json({ intent_uid: intent.intent_uid, parameters: complete, answer: body });
}

/** The best hit, or the one that is picked where somebody can be asked. */
async function choose({ api, terminal }: Context, words: string[]): Promise<string> {
  if (words.length === 0) throw usageFailure('What should the intent do? Say it in plain words, or name one with --intent.');
  const query = { query: words.join(' '), page_size: shownHits };
  const { intents } = readBody(intentPage, await api.call('GET', '/api/intents/search', { query }));
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

async function readParameters({ params }: TryOptions): Promise<Values> {
  if (params === undefined) return {};
  const given = await readInput(params);
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw usageFailure('--params takes an object of parameters.');
  return given as Values;
}

function readPairs({ input_parameters }: FullIntent, pairs: string[]): Values {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw usageFailure('--param takes name=value.');
      const name = pair.slice(0, at);
      return [
        name,
        readValue(
          pair.slice(at + 1),
          input_parameters.find((parameter) => parameter.name === name),
        ),
      ];
    }),
  );
}

/** A text is meant as it is written, anything else as JSON. Of what may be both, what is JSON is JSON. */
function readValue(written: string, parameter: Parameter | undefined): unknown {
  if (parameter?.type === 'string') return written;
  try {
    return JSON.parse(written);
  } catch {
    // the service says what is wrong with it
    return written;
  }
}

async function askMissing({ terminal }: Context, { input_parameters }: FullIntent, given: Values): Promise<Values> {
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

/** Where a kept PAT is refused, because it was revoked or the policy has changed, a new one is asked for once. */
async function execute({ api }: Context, uid: string, parameters: Values, accept: Parameters<typeof obtainPat>[1]): Promise<Reply> {
  const call = async () =>
    api.call('POST', '/api/intents/execute', {
      body: { intent_uid: uid, parameters },
      headers: { Authorization: `Bearer ${await obtainPat(api, accept)}` },
      isRetried: false,
    });
  try {
    return await call();
  } catch (error) {
    const isStale = error instanceof ApiFailure && (error.status === 401 || error.details.reason === 'policy_changed');
    if (!isStale) throw error;
    forgetPat(api);
    return call();
  }
}
