import { type Command, type CommandUnknownOpts, Option, type OptionValues } from '@commander-js/extra-typings';
import type * as z from 'zod';
import { type ServiceInput, savedService, serviceInput, serviceUpdate } from '../../../schemas/service.ts';
import { stats } from '../../../schemas/stats.ts';
import { readAnswer } from '../../probes.ts';
import type { Api } from '../api.ts';
import { openContext } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { parseInput, readInput } from '../input.ts';
import { normalizeService } from '../registry/normal-form.ts';
import { listServices, requireService, servicePath } from '../registry/read.ts';
import { addCredential } from './credential.ts';

/** Options that each give the member of a service that they are described as. */
const fields = [
  new Option('--name <name>', 'service_name'),
  new Option('--address <url>', 'service_url'),
  new Option('--description <text>', 'description'),
  new Option('--policy-url <url>', 'policy_url'),
  new Option('--logo-url <url>', 'service_logo_url'),
  new Option('--terms-url <url>', 'service_terms_of_service_url'),
  new Option('--privacy-url <url>', 'service_privacy_policy_url'),
  new Option('--namespace <namespace>', 'namespace'),
];

function addFields<Words extends unknown[]>(command: Command<Words, OptionValues, OptionValues>) {
  const extended = command
    .option('-f, --file <file>', 'the whole record as JSON or YAML, also as "show --json" prints it; - for stdin')
    .option('--header <field...>', "headers: fields that every call carries and that are no secret, such as 'Notion-Version: 2022-06-28'");
  for (const field of fields) extended.addOption(field);
  return extended;
}

async function readFields<T>(
  { file, header, ...options }: OptionValues & { file?: string; header?: string[] },
  schema: z.ZodType<T>,
  standing?: ServiceInput,
): Promise<T> {
  const given = fields.map((field) => [field.description, options[field.attributeName()]]).filter(([, value]) => value !== undefined);
  const base = file === undefined ? standing : ((await readInput(file)) as object);
  const whole = { ...base, ...Object.fromEntries(given), ...(header && { headers: Object.fromEntries(header.map(splitField)) }) };
  return parseInput(schema, whole, 'The service is not complete or not valid:');
}

function splitField(field: string): [name: string, value: string] {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(field) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw usageFailure("--header takes a name and a value, for example 'Notion-Version: 2022-06-28'.");
}

/** How many answers of services in the last 24 hours were not as their intents describe them, by service_id; empty for whoever may not read statistics, and if they cannot be read. */
async function readDrift(api: Api): Promise<Map<string | undefined, number>> {
  try {
    const { services } = readAnswer(stats, await api.call('GET', '/api/stats', { isAdmin: true }));
    return new Map(services.map(({ service_id, drift }) => [service_id, drift]));
  } catch {
    return new Map();
  }
}

const describeDrift = (count = 0): string =>
  count === 0 ? '' : `${count} ${count === 1 ? 'answer was' : 'answers were'} not as described in the last 24 hours`;

export function addServices(program: CommandUnknownOpts): void {
  const services = program.command('services').description('Services: list, show, create, update, delete; their credentials');
  addCredential(services);
  services
    .command('list')
    .description('List the services')
    .option('--name <words>', 'those whose names have all these words')
    .action(async ({ name }, command) => {
      const { api, terminal } = openContext(command);
      const found = await Array.fromAsync(listServices(api, name));
      const drift = await readDrift(api);
      terminal.table(
        found.map(({ service_id, service_name, intents }) => [
          service_id,
          service_name,
          `${intents} intents`,
          describeDrift(drift.get(service_id)),
        ]),
      );
      if (found.length === 0)
        terminal.remark('There is no such service. Register one with "intent-gate services create" or "intent-gate import".');
      terminal.json(
        found.map((service) => ({ ...service, ...(drift.get(service.service_id) && { drift: drift.get(service.service_id) }) })),
      );
    });
  services
    .command('show <service>')
    .description('Show a service, by service_id or name')
    .action(async (nameOrId, _, command) => {
      const { api, terminal } = openContext(command);
      const { record: service } = await requireService(api, nameOrId);
      terminal.record(service);
      const drift = describeDrift((await readDrift(api)).get(service.service_id));
      if (drift) terminal.remark(`${drift}. Importing the document of the service again shows what has changed.`);
    });
  addFields(services.command('create'))
    .description('Register a service')
    .action(async (options, command) => {
      const { api, terminal } = openContext(command);
      const body = await readFields(options, serviceInput);
      const saved = readAnswer(savedService, await api.call('POST', '/api/services', { body, isAdmin: true }));
      terminal.result(saved, `${saved.service_name} is registered. Its service_id is ${saved.service_id}.`);
    });
  addFields(services.command('update <service>'))
    .description('Change a service: the members given; with --file the whole record')
    .action(async (nameOrId: string, options, command) => {
      const { api, terminal } = openContext(command);
      const { record: service, etag } = await requireService(api, nameOrId);
      const body = await readFields(options, serviceUpdate, normalizeService(service));
      const reply = await api.call('PUT', servicePath(service.service_id), { body, isAdmin: true, headers: { 'If-Match': etag } });
      const saved = readAnswer(savedService, reply);
      terminal.result(saved, `${saved.service_name} is changed.`);
    });
  services
    .command('delete <service>')
    .description('Delete a service and all its intents')
    .option('-y, --yes', 'without asking')
    .action(async (nameOrId, { yes }, command) => {
      const { api, terminal } = openContext(command);
      const { record: service } = await requireService(api, nameOrId);
      await terminal.requireConfirmation(`Delete ${service.service_name} and all its intents?`, yes);
      await api.call('DELETE', servicePath(service.service_id), { isAdmin: true });
      terminal.result({ service_id: service.service_id, deleted: true }, `${service.service_name} and its intents are deleted.`);
    });
}
