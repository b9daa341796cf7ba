import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { type PendingExecution, receiptOf, upstreamOf } from '../../../client/connect.ts';
import { toPrintableJson } from '../../../client/printable.ts';
import { CliFailure, usageFailure } from '../../../registry/failure.ts';
import { readInput } from '../../../registry/input.ts';
import { executionIdOf } from '../../../schemas/deferred.ts';
import type { FullIntent } from '../../../schemas/intent.ts';
import { agentOptions, connectAgent, explainForeignPolicy } from '../agent.ts';
import { type CliContext, openContext, readPairs, readValueFor } from '../context.ts';
import { showIntent } from './intents.ts';

type Values = Record<string, unknown>;
type Agent = Awaited<ReturnType<typeof connectAgent>>;

const shownHits = 5;

export function addTry(program: CommandUnknownOpts): void {
  program
    .command('try [words...]')
    .description('Act as an agent: find an intent in plain words, accept the policy, and execute the intent')
    .option('--intent <uid>', 'execute this intent instead of searching')
    .option('-p, --param <name=value...>', 'parameter; values other than strings are JSON')
    .option('--params <file>', 'file with all parameters as a JSON or YAML object; - for stdin')
    .addOption(agentOptions.publicUrl)
    .addOption(agentOptions.agentDirectory)
    .option('--idempotency-key <key>', 'repeat an earlier call, whose answer or receipt was lost, without making it twice')
    .option('--receipt <file>', 'write the receipt of the execution to this file, for "receipt save"')
    .addOption(agentOptions.acceptPolicy)
    .action(async (words, options, command) => {
      const context = openContext(command);
      const { terminal } = context;
      const { idempotencyKey = randomUUID() } = options;
      if (!/^[\x21-\x7e]{1,255}$/.test(idempotencyKey))
        throw usageFailure('--idempotency-key must have 1 to 255 visible ASCII characters.');
      const agent = await connectAgent(context, options);
      const uid = options.intent ?? (await choose(context, agent.gate, words));
      const intent = (await agent.gate.get(uid)) as FullIntent;
      showIntent(terminal, intent);
      const find = (name: string) => intent.input_parameters.find((one) => one.name === name);
      const read = (written: string, name: string) => readValueFor(written, find(name));
      const parameters = { ...(await readParameters(options.params)), ...readPairs(options.param ?? [], read) };
      const complete = { ...parameters, ...(await askMissing(context, intent, parameters)) };
      const { agentId, answer, receipt, upstream } = await execute(context, agent, intent.intent_uid, complete, idempotencyKey);
      const text = `${JSON.stringify(receipt, null, 2)}\n`;
      // before the answer is shown, which may end the program, and reported after it
      const unwritten =
        options.receipt === undefined || !receipt
          ? undefined
          : await writeFile(options.receipt, text).then(
              () => undefined,
              (error: Error) => error,
            );
      terminal.say(`\n${terminal.style('bold', 'Response:')}\n${toPrintableJson(answer, 2)}`);
      // a plain 200 says nothing that the response does not
      if (upstream && (upstream.status !== 200 || Object.keys(upstream.headers).length > 0))
        terminal.say(`\n${terminal.style('bold', 'Status and header fields of the service:')}\n${toPrintableJson(upstream, 2)}`);
      terminal.json({ agent_id: agentId, intent_uid: intent.intent_uid, parameters: complete, answer, upstream });
      if (options.receipt !== undefined && !receipt)
        throw new CliFailure('failure', 'The intent was executed, but the gate issued no receipt.');
      if (unwritten)
        throw new CliFailure(
          'usage',
          `The intent was executed, but its receipt cannot be written (${unwritten.message}). Repeat the command with --idempotency-key ${idempotencyKey} and another file.`,
        );
    });
}

async function execute({ terminal }: CliContext, { agentId, gate }: Agent, uid: string, parameters: Values, idempotencyKey: string) {
  const wait = (state: PendingExecution) => {
    const id = executionIdOf(state);
    if (state.status === 'working') terminal.remark('The call is being made.');
    else
      terminal.remark(`The call waits for approval until ${state.expires_at}. An admin decides with: intent-gate approvals approve ${id}`);
  };
  const answer = await gate.execute(uid, parameters, { wait, idempotencyKey }).catch(explainForeignPolicy);
  const head = upstreamOf(answer);
  const upstream = head && { status: head.status, headers: Object.fromEntries(head.headers) };
  return { agentId, answer, receipt: receiptOf(answer), upstream };
}

async function choose({ terminal }: CliContext, gate: Agent['gate'], words: string[]): Promise<string> {
  if (words.length === 0) throw usageFailure('Describe in plain words what the intent should do, or pass its uid with --intent.');
  const { intents } = await gate.search({ query: words.join(' '), page_size: shownHits });
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
  for (const parameter of missing) values[parameter.name] = readValueFor(await terminal.ask(`${parameter.name}: `), parameter);
  return values;
}
