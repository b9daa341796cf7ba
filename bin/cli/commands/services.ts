import type { Command } from 'commander';
import { issuesOf } from '../../../functions/core/json.ts';
import { type ServiceInput, savedService, serviceInput } from '../../../schemas/service.ts';
import { readAnswer } from '../../probes.ts';
import { openContext } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { readInput } from '../input.ts';
import { normalizeService } from '../registry/normal-form.ts';
import { findIntent, requireService, searchServices, servicePath } from '../registry/read.ts';
import { confirmOrRefuse } from './confirm.ts';
import { showRecord } from './show.ts';

interface ServiceOptions {
  file?: string;
  name?: string;
  address?: string;
  description?: string;
  policyUrl?: string;
  logoUrl?: string;
  termsUrl?: string;
  privacyUrl?: string;
}

const addFields = (command: Command): Command =>
  command
    .option('-f, --file <file>', 'the whole record as JSON or YAML; - for stdin')
    .option('--name <name>', 'service_name')
    .option('--address <url>', 'service_url')
    .option('--description <text>', 'description')
    .option('--policy-url <url>', 'policy_url')
    .option('--logo-url <url>', 'service_logo_url')
    .option('--terms-url <url>', 'service_terms_of_service_url')
    .option('--privacy-url <url>', 'service_privacy_policy_url');

async function readFields(options: ServiceOptions, standing?: ServiceInput): Promise<ServiceInput> {
  const given = {
    service_name: options.name,
    service_url: options.address,
    description: options.description,
    policy_url: options.policyUrl,
    service_logo_url: options.logoUrl,
    service_terms_of_service_url: options.termsUrl,
    service_privacy_policy_url: options.privacyUrl,
  };
  const members = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const base = options.file === undefined ? standing : ((await readInput(options.file)) as object);
  const { success, data, error } = serviceInput.safeParse({ ...base, ...members }, { reportInput: true });
  if (!success) throw usageFailure('The service is not complete or not valid:', issuesOf(error));
  return data;
}

export function addServices(program: Command): void {
  const services = program.command('services').description('Services: list, show, create, update, delete');
  services
    .command('list')
    .description('List the services that a search finds: those with an intent that is not deprecated')
    .action(async (_, command: Command) => {
      const { api, terminal } = openContext(command);
      const found: { service_id: string; service_name: string }[] = [];
      for await (const { name, uid } of searchServices(api)) {
        const intent = (await findIntent(api, uid))?.intent;
        if (intent) found.push({ service_id: intent.service_id, service_name: name });
      }
      found.sort((left, right) => left.service_name.localeCompare(right.service_name, 'en'));
      terminal.table(found.map(({ service_id, service_name }) => [service_id, service_name]));
      if (found.length === 0)
        terminal.remark('No service has an intent that a search finds. A service without one is shown by its service_id only.');
      terminal.json(found);
    });
  services
    .command('show <service>')
    .description('Show a service, by service_id or name')
    .action(async (nameOrId: string, _, command: Command) => {
      const { api, terminal } = openContext(command);
      const { service } = await requireService(api, nameOrId);
      showRecord(terminal, service);
    });
  addFields(services.command('create'))
    .description('Register a service')
    .action(async (options: ServiceOptions, command: Command) => {
      const { api, terminal } = openContext(command);
      const body = await readFields(options);
      const saved = readAnswer(savedService, await api.call('POST', '/api/services', { body, isAdmin: true }));
      terminal.say(`${saved.service_name} is registered. Its service_id is ${saved.service_id}.`);
      terminal.json(saved);
    });
  addFields(services.command('update <service>'))
    .description('Change a service: the members given; with --file the whole record')
    .action(async (nameOrId: string, options: ServiceOptions, command: Command) => {
      const { api, terminal } = openContext(command);
      const { service, etag } = await requireService(api, nameOrId);
      const body = await readFields(options, normalizeService(service));
      const reply = await api.call('PUT', servicePath(service.service_id), { body, isAdmin: true, headers: { 'If-Match': etag } });
      const saved = readAnswer(savedService, reply);
      terminal.say(`${saved.service_name} is changed.`);
      terminal.json(saved);
    });
  services
    .command('delete <service>')
    .description('Delete a service and all its intents')
    .option('-y, --yes', 'without asking')
    .action(async (nameOrId: string, { yes }: { yes?: boolean }, command: Command) => {
      const { api, terminal } = openContext(command);
      const { service } = await requireService(api, nameOrId);
      await confirmOrRefuse(terminal, yes, `Delete ${service.service_name} and all its intents?`);
      await api.call('DELETE', servicePath(service.service_id), { isAdmin: true });
      terminal.say(`${service.service_name} and its intents are deleted.`);
      terminal.json({ service_id: service.service_id, deleted: true });
    });
}
