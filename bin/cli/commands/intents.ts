import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import type * as z from 'zod';
import { readAnswer } from '../../../registry/api.ts';
import { usageFailure } from '../../../registry/failure.ts';
import { parseInput, readInput } from '../../../registry/input.ts';
import { normalizeIntent } from '../../../registry/normal-form.ts';
import { intentPath, listAllIntents, requireService } from '../../../registry/read.ts';
import { createIntent } from '../../../registry/save.ts';
import { type FullIntent, fullIntent, intentUpdate, savedIntent } from '../../../schemas/intent.ts';
import { intentPage } from '../../../schemas/intent-pages.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import { openContext } from '../context.ts';
import type { Terminal } from '../terminal.ts';

const readIntent = async <T extends z.ZodType>(file: string, schema: T): Promise<z.output<T>> =>
  parseInput(schema, await readInput(file), 'The intent is invalid:');

export function showIntent(terminal: Terminal, intent: FullIntent): void {
  terminal.say(`${terminal.style('bold', intent.intent_name)} ${terminal.style('dim', intent.intent_uid)}`);
  const states = (['deprecated', 'draft', 'paused'] as const).filter((state) => intent[state]).map((state) => ` (${state})`);
  terminal.say(`${intent.service_name}: ${intent.endpoint.method} ${intent.endpoint.url}${states.join('')}`);
  terminal.say(intent.description);
  if (intent.tags.length > 0) terminal.say(`Tags: ${intent.tags.join(', ')}`);
  terminal.section('Parameters:', intent.input_parameters.map(describeParameter));
  terminal.section('Response:', intent.output_parameters.map(describeParameter));
}

function describeParameter({ name, type, required, description, ...rest }: Parameter): string {
  const constraints = Object.entries(rest).map(([constraint, value]) => `${constraint} ${JSON.stringify(value)}`);
  const facts = [type, ...(required ? [] : ['optional']), ...constraints].join(', ');
  return `${name} (${facts})${description === undefined ? '' : `: ${description.split('\n')[0]}`}`;
}

export function addIntents(program: CommandUnknownOpts): void {
  const intents = program.command('intents').description('Manage intents');
  intents
    .command('list [words...]')
    .description('Search for intents in plain words, or list all intents of a service with --service, including deprecated ones')
    .option('--service <service>', 'service_id or name')
    .option('--namespace <namespace>', 'only in this namespace')
    .option('--tags <tags>', 'only with all of these tags, separated by commas')
    .option('--limit <count>', 'maximum number of results, up to 100', '20')
    .action(async (words, { service, namespace, tags, limit }, command) => {
      const { api, terminal } = openContext(command);
      if (service !== undefined) {
        if (words.length > 0 || namespace !== undefined || tags !== undefined || command.getOptionValueSource('limit') !== 'default')
          throw usageFailure('--service lists all intents of the service: leave out the words, --namespace, --tags and --limit.');
        const all = await listAllIntents(api, (await requireService(api, service)).record.service_id);
        terminal.table(
          all.map(({ intent_uid, intent_name, deprecated, draft }) => [
            intent_uid,
            intent_name,
            [...(deprecated ? ['deprecated'] : []), ...(draft ? ['draft'] : [])].join(', '),
          ]),
        );
        return terminal.json(all);
      }
      const query = { query: words.join(' '), namespace, tags, page_size: limit };
      const page = readAnswer(intentPage, await api.call('GET', '/api/intents/search', { query, isAdmin: 'if signed in' }));
      const { total_results } = page.pagination;
      terminal.table(page.intents.map(({ intent_uid, intent_name, service_name }) => [intent_uid, service_name, intent_name]));
      if (total_results > page.intents.length)
        terminal.remark(`Showing ${page.intents.length} of ${total_results}. Use --limit to see up to 100.`);
      if (total_results === 0) terminal.remark('No intent matches.');
      terminal.json(terminal.format === 'csv' ? page.intents : page);
    });
  intents
    .command('show <uid>')
    .description('Show the complete record of an intent')
    .action(async (uid, _, command) => {
      const { api, terminal } = openContext(command);
      const reply = await api.call('GET', intentPath(uid), { query: { view: 'full' }, isAdmin: 'if signed in' });
      const intent = readAnswer(fullIntent, reply);
      showIntent(terminal, intent);
      terminal.json(intent);
    });
  intents
    .command('create')
    .description('Create an intent from a file')
    .requiredOption('--service <service>', 'service_id or name')
    .requiredOption('-f, --file <file>', 'the intent as JSON or YAML, such as the output of "show --json"; - for stdin')
    .action(async ({ service, file }, command) => {
      const { api, terminal } = openContext(command);
      const body = normalizeIntent(await readIntent(file, intentUpdate));
      const { service_id: serviceId } = (await requireService(api, service)).record;
      const saved = await createIntent(api, serviceId, body);
      terminal.result(saved, `Created ${saved.intent_uid}.`);
    });
  intents
    .command('update <uid>')
    .description('Replace an intent with the contents of a file')
    .requiredOption('-f, --file <file>', 'the intent as JSON or YAML, such as the output of "show --json"; - for stdin')
    .action(async (uid, { file }, command) => {
      const { api, terminal } = openContext(command);
      const body = await readIntent(file, intentUpdate);
      const saved = readAnswer(savedIntent, await api.call('PUT', intentPath(uid), { body, isAdmin: true }));
      terminal.result(saved, `Updated ${saved.intent_uid}.`);
    });
  intents
    .command('delete <uid>')
    .description('Delete an intent')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (uid, { yes }, command) => {
      const { api, terminal } = openContext(command);
      await terminal.requireConfirmation(`Delete ${uid}?`, yes);
      await api.call('DELETE', intentPath(uid), { isAdmin: true });
      terminal.result({ intent_uid: uid, deleted: true }, `Deleted ${uid}.`);
    });
}
