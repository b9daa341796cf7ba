import { type Command, type CommandUnknownOpts, Option, type OptionValues } from '@commander-js/extra-typings';
import type * as z from 'zod';
import { hasDefaults } from '../../../registry/describe.ts';
import { usageFailure } from '../../../registry/failure.ts';
import { parseInput, readInput } from '../../../registry/input.ts';
import { normalizeService } from '../../../registry/normal-form.ts';
import { listServices, readFullIntents, requireService, servicePath } from '../../../registry/read.ts';
import { createService, replaceService } from '../../../registry/save.ts';
import { type ServiceInput, type ServiceList, serviceUpdate } from '../../../schemas/service.ts';
import { type CliContext, openContext, readHeaders } from '../context.ts';
import { addCredential } from './credential.ts';

/** Options; the description is the member of a service that the option sets. */
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
    .option('-f, --file <file>', 'the whole record as JSON or YAML, such as the output of "show --json"; - for stdin')
    .option(
      '--header <field...>',
      "headers: non-secret fields to send with every call, in addition to those of the service, such as 'Notion-Version: 2022-06-28'",
    );
  for (const field of fields) extended.addOption(field);
  return extended;
}

async function readFields(
  { file, header, ...options }: OptionValues & { file?: string; header?: string[] },
  current?: ServiceInput,
): Promise<z.output<typeof serviceUpdate>> {
  const given = fields.map((field) => [field.description, options[field.attributeName()]]).filter(([, value]) => value !== undefined);
  const base = file === undefined ? current : ((await readInput(file)) as object);
  const read = parseInput(serviceUpdate, { ...base, ...Object.fromEntries(given) }, incomplete);
  return header ? parseInput(serviceUpdate, { ...read, headers: addHeaders(read, readHeaders(header)) }, incomplete) : read;
}

const incomplete = 'The service is incomplete or invalid:';

/** Adds header fields to those of a record, whose names ignore case. */
function addHeaders({ headers = {} }: Pick<ServiceInput, 'headers'>, added: Record<string, string>): Record<string, string> {
  const replaced = new Set(Object.keys(added).map((name) => name.toLowerCase()));
  const kept = Object.entries(headers).filter(([name]) => !replaced.has(name.toLowerCase()));
  return { ...Object.fromEntries(kept), ...added };
}

type ListedService = ServiceList['services'][number] & { intents_with_defaults?: number };

async function findWithDefaults(context: CliContext, listed: readonly ListedService[]): Promise<ListedService[]> {
  const found: ListedService[] = [];
  for (const service of listed) {
    let count = 0;
    for await (const { record } of readFullIntents(context, service.service_id)) if (hasDefaults(record)) count++;
    if (count > 0) found.push({ ...service, intents_with_defaults: count });
  }
  return found;
}

export function addServices(program: CommandUnknownOpts): void {
  const services = program.command('services').description('Manage services and their credentials');
  services
    .command('list')
    .description('List the services')
    .option('--name <words>', 'only services whose names contain all these words')
    .option(
      '--defaults',
      'only services with intents whose calls send defaults, and how many: imports no longer register any, so either an earlier import or a person did',
    )
    .action(async ({ name, defaults }, command) => {
      const context = openContext(command);
      const { api, terminal } = context;
      const listed = await Array.fromAsync(listServices(api, name));
      const found: readonly ListedService[] = defaults ? await findWithDefaults(context, listed) : listed;
      terminal.list(
        ['Id', 'Service', 'Intents', ''],
        found.map(({ service_id, service_name, intents, paused, intents_with_defaults: count }) => [
          service_id,
          service_name,
          `${count === undefined ? '' : `${count} of `}${intents}`,
          paused ? 'paused' : '',
        ]),
        found,
      );
      if (found.length === 0 && defaults) terminal.remark('No intents send defaults.');
      else if (found.length === 0)
        terminal.remark('No services found. Register one with "intent-gate services create" or "intent-gate import".');
    });
  services
    .command('show <service>')
    .description('Show a service, by service_id or name')
    .action(async (nameOrId, _, command) => {
      const { api, terminal } = openContext(command);
      const { record: service } = await requireService(api, nameOrId);
      terminal.record(service);
    });
  addFields(services.command('create'))
    .description('Register a service')
    .action(async (options, command) => {
      const { api, terminal } = openContext(command);
      // the file may have the read-only members that "show --json" prints
      const body = normalizeService(await readFields(options));
      const { saved } = await createService(api, body);
      terminal.result(saved, `Registered ${saved.service_name} with the service_id ${saved.service_id}.`);
    });
  addFields(services.command('update <service>'))
    .description('Change the given members of a service; with --file, replace the whole record')
    .action(async (nameOrId: string, options, command) => {
      const { api, terminal } = openContext(command);
      if (Object.keys(options).length === 0) throw usageFailure('Say with an option what to change, for example --description.');
      const { record: service, etag } = await requireService(api, nameOrId);
      const body = await readFields(options, normalizeService(service));
      const saved = await replaceService(api, service.service_id, body, { 'If-Match': etag });
      terminal.result(saved, `Updated ${saved.service_name}.`);
    });
  const changes = [
    ['pause', true, "Refuse every execution of a service's intents until it is resumed; searches still find them"],
    ['resume', false, "Allow executions of a paused service's intents again"],
  ] as const;
  for (const [verb, paused, description] of changes) {
    services
      .command(`${verb} <service>`)
      .description(description)
      .action(async (nameOrId: string, _, command) => {
        const { api, terminal } = openContext(command);
        const { record, etag } = await requireService(api, nameOrId);
        const body = normalizeService({ ...record, paused });
        const { service_id, service_name } = await replaceService(api, record.service_id, body, { 'If-Match': etag });
        const done = paused ? `Paused ${service_name}: its intents are no longer executed.` : `Resumed ${service_name}.`;
        terminal.result({ service_id, paused }, done);
      });
  }
  services
    .command('delete <service>')
    .description('Delete a service and all its intents')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (nameOrId, { yes }, command) => {
      const { api, terminal } = openContext(command);
      const { record: service } = await requireService(api, nameOrId);
      await terminal.requireConfirmation(`Delete ${service.service_name} and all its intents?`, yes);
      await api.call('DELETE', servicePath(service.service_id), { isAdmin: true });
      terminal.result({ service_id: service.service_id, deleted: true }, `Deleted ${service.service_name} and its intents.`);
    });
  addCredential(services);
}
