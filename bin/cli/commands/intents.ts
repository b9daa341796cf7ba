import type { Command } from 'commander';
import { issuesOf } from '../../../functions/core/json.ts';
import { type FullIntent, fullIntent, type IntentInput, intentInput, intentPage, savedIntent } from '../../../schemas/intent.ts';
import { readAnswer } from '../../probes.ts';
import { type CliContext, openContext } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { readInput } from '../input.ts';
import { intentPath, listIntents, requireService, servicePath } from '../registry/read.ts';
import type { Terminal } from '../terminal.ts';
import { confirmOrRefuse } from './confirm.ts';
import { describeParameter } from './show.ts';

async function readIntent(file: string): Promise<IntentInput> {
  const { success, data, error } = intentInput.safeParse(await readInput(file), { reportInput: true });
  if (!success) throw usageFailure('The intent is not valid:', issuesOf(error));
  return data;
}

export function showIntent(terminal: Terminal, intent: FullIntent): void {
  terminal.say(`${terminal.style('bold', intent.intent_name)} ${terminal.style('dim', intent.intent_uid)}`);
  terminal.say(`${intent.service_name}: ${intent.endpoint.method} ${intent.endpoint.url}${intent.deprecated ? ' (deprecated)' : ''}`);
  terminal.say(intent.description);
  if (intent.tags.length > 0) terminal.say(`Tags: ${intent.tags.join(', ')}`);
  for (const [title, list] of [
    ['It takes:', intent.input_parameters],
    ['It answers:', intent.output_parameters],
  ] as const) {
    if (list.length > 0) terminal.say(title);
    for (const parameter of list) terminal.say(`  ${describeParameter(parameter)}`);
  }
}

interface ListOptions {
  service?: string;
  namespace?: string;
  tags?: string;
  limit: string;
}

async function list({ api, terminal }: CliContext, words: string[], { service, namespace, tags, limit }: ListOptions): Promise<void> {
  if (service !== undefined) {
    const found = await requireService(api, service);
    const all = [];
    for await (const { intents } of listIntents(api, found.service.service_id)) all.push(...intents);
    terminal.table(all.map(({ intent_uid, intent_name }) => [intent_uid, intent_name]));
    terminal.json(all);
    return;
  }
  const query = { query: words.join(' '), namespace, tags, page_size: limit };
  const { intents, pagination } = readAnswer(intentPage, await api.call('GET', '/api/intents/search', { query }));
  terminal.table(intents.map(({ intent_uid, intent_name, service_name }) => [intent_uid, service_name, intent_name]));
  if (pagination.total_results > intents.length)
    terminal.remark(`${intents.length} of ${pagination.total_results}; --limit shows up to 100.`);
  terminal.json({ intents, pagination });
}

export function addIntents(program: Command): void {
  const intents = program.command('intents').description('Intents: list, show, create, update, delete');
  intents
    .command('list [words...]')
    .description('Search for intents in plain words; with --service list all of one service, deprecated ones included')
    .option('--service <service>', 'service_id or name')
    .option('--namespace <namespace>', 'only of this namespace')
    .option('--tags <tags>', 'only with all of these tags, separated by commas')
    .option('--limit <count>', 'how many at most, up to 100', '20')
    .action((words: string[], options: ListOptions, command: Command) => list(openContext(command), words, options));
  intents
    .command('show <uid>')
    .description('Show all that is registered of an intent')
    .action(async (uid: string, _, command: Command) => {
      const { api, terminal } = openContext(command);
      const intent = readAnswer(fullIntent, await api.call('GET', intentPath(uid), { query: { view: 'full' } }));
      showIntent(terminal, intent);
      terminal.json(intent);
    });
  intents
    .command('create')
    .description('Create an intent from a file')
    .requiredOption('--service <service>', 'service_id or name')
    .requiredOption('-f, --file <file>', 'the intent as JSON or YAML; - for stdin')
    .action(async ({ service, file }: { service: string; file: string }, command: Command) => {
      const { api, terminal } = openContext(command);
      const body = await readIntent(file);
      const { service_id: serviceId } = (await requireService(api, service)).service;
      const saved = readAnswer(savedIntent, await api.call('POST', `${servicePath(serviceId)}/intents`, { body, isAdmin: true }));
      terminal.say(`${saved.intent_uid} is created.`);
      terminal.json(saved);
    });
  intents
    .command('update <uid>')
    .description('Replace an intent by a file')
    .requiredOption('-f, --file <file>', 'the intent as JSON or YAML; - for stdin')
    .action(async (uid: string, { file }: { file: string }, command: Command) => {
      const { api, terminal } = openContext(command);
      const saved = readAnswer(savedIntent, await api.call('PUT', intentPath(uid), { body: await readIntent(file), isAdmin: true }));
      terminal.say(`${saved.intent_uid} is changed.`);
      terminal.json(saved);
    });
  intents
    .command('delete <uid>')
    .description('Delete an intent')
    .option('-y, --yes', 'without asking')
    .action(async (uid: string, { yes }: { yes?: boolean }, command: Command) => {
      const { api, terminal } = openContext(command);
      await confirmOrRefuse(terminal, yes, `Delete ${uid}?`);
      await api.call('DELETE', intentPath(uid), { isAdmin: true });
      terminal.say(`${uid} is deleted.`);
      terminal.json({ intent_uid: uid, deleted: true });
    });
}
