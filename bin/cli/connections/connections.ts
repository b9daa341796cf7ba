import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CommandUnknownOpts, Option, type OptionValues } from '@commander-js/extra-typings';
import type * as z from 'zod';
import { issuesOf } from '../../../functions/core/json/json.ts';
import { type Api, readAnswer } from '../../../registry/api.ts';
import { CliFailure, usageFailure } from '../../../registry/failure.ts';
import { requireService, servicePath } from '../../../registry/read.ts';
import { connectionList, credentialTest, serviceConnections } from '../../../schemas/connections/connections.ts';
import { savedCredential } from '../../../schemas/credential.ts';
import { credentialInput } from '../../../schemas/credential-input.ts';
import { groupOf, openContext } from '../context.ts';
import type { Terminal } from '../terminal.ts';

type Connection = z.infer<typeof connectionList>['connections'][number];

/** How long "connect" waits for the person in the browser, and between two questions, in milliseconds. */
const [waitMs, pauseMs] = [600_000, 1_000];

const listConnections = async (api: Api): Promise<Connection[]> =>
  readAnswer(connectionList, await api.call('GET', '/api/connections', { isAdmin: true })).connections;

/** Opens a page in the browser: that of `BROWSER`, else the system's. Nothing happens if there is none. */
function openPage(url: string): void {
  const own = { darwin: 'open', win32: 'explorer' }[process.platform as string] ?? 'xdg-open';
  spawn(process.env.BROWSER || own, [url], { detached: true, stdio: 'ignore' })
    .on('error', () => {})
    .unref();
}

/** @throws CliFailure if the person has not connected in time */
async function waitForConnection(api: Api, service: { service_id: string; service_name: string }, before: Connection | undefined) {
  for (const end = Date.now() + waitMs; Date.now() < end; await sleep(pauseMs)) {
    const now = (await listConnections(api)).find(({ service_id }) => service_id === service.service_id);
    if (now?.state === 'connected' && now.connected_at !== before?.connected_at) return now;
  }
  throw new CliFailure('failure', `Nobody has connected ${service.service_name} within ten minutes. Start again.`);
}

const describeFailure = ({ error, description }: { error?: string | undefined; description?: string | undefined }): string =>
  [error, description].filter(Boolean).join(': ') || 'no reason was given';

async function readSecret({ public: isPublic, clientSecretFromEnv }: OptionValues, terminal: Terminal): Promise<string | undefined> {
  if (isPublic) return undefined;
  if (clientSecretFromEnv === undefined)
    return terminal.isInteractive ? terminal.askSecret('Client secret: ') : (await text(process.stdin)).replace(/\r?\n$/, '');
  // the message does not repeat the variable, which may be a secret given by mistake
  return process.env[String(clientSecretFromEnv)] || Promise.reject(usageFailure('The variable of --client-secret-from-env is not set.'));
}

async function readStatus(api: Api, serviceId: string) {
  return readAnswer(serviceConnections, await api.call('GET', `${servicePath(serviceId)}/connections`, { isAdmin: true }));
}

function addCredentialCommands(credential: CommandUnknownOpts): void {
  credential
    .command('oauth <service>')
    .description('Let the gate obtain tokens for a service, as a client of its issuer: its own, or those of the people for whom agents act')
    .addOption(new Option('--grant <grant>', 'whose tokens calls carry').choices(['client', 'person'] as const).makeOptionMandatory())
    .option('--issuer <url>', 'issuer whose metadata is read')
    .option('--token-endpoint <url>', 'in place of the metadata')
    .option('--authorization-endpoint <url>', 'in place of the metadata; where people agree')
    .requiredOption('--client-id <id>', 'as registered at the issuer')
    .option(
      '--client-secret-from-env <VARIABLE>',
      'reads the secret from an environment variable; default: prompts for it, or reads it from stdin',
    )
    .option('--public', 'the client has no secret')
    .option('--scope <scope...>', 'scopes to ask for')
    .option('--audience <audience>', 'whom the token is for, if the issuer wants to be told')
    .option('--resource <url>', 'the same as an address (RFC 8707)')
    .option('--origin <origin...>', 'where to send tokens; default: the origin of service_url')
    .action(async (nameOrId, { scope, origin, ...options }, command) => {
      const { api, terminal } = openContext(command);
      const { record: service } = await requireService(api, nameOrId);
      const { grant, issuer, tokenEndpoint, authorizationEndpoint, clientId, audience, resource } = options;
      const oauth = {
        ...{ grant, issuer, audience, resource, client_id: clientId, client_secret: await readSecret(options, terminal), scopes: scope },
        ...{ token_endpoint: tokenEndpoint, authorization_endpoint: authorizationEndpoint },
      };
      // without what was not given
      const given = JSON.parse(JSON.stringify({ oauth, origins: origin }));
      const { success, data: body, error } = credentialInput.safeParse(given, { reportInput: true });
      if (!success) throw usageFailure('The credential is invalid:', issuesOf(error));
      const path = `${servicePath(service.service_id)}/credential`;
      const saved = readAnswer(savedCredential, await api.call('PUT', path, { body, isAdmin: true }));
      const { redirect_uri } = await readStatus(api, service.service_id);
      const whose = grant === 'client' ? 'a token of the gate' : 'the token of the person for whom the agent acts';
      terminal.say(`Calls to ${service.service_name} carry ${whose}, only to ${saved.origins.join(', ')}.`);
      if (redirect_uri !== undefined) terminal.say(`Register this redirect URI at the issuer: ${redirect_uri}`);
      terminal.say(`Try it with: npx intent-gate services credential test ${service.service_id}`);
      terminal.json({ ...saved, ...(redirect_uri !== undefined && { redirect_uri }) });
    });
  credential
    .command('test <service>')
    .description('Obtain a token of the gate and discard it; of a service that people connect to, read what its issuer says of itself')
    .action(async (nameOrId, _, command) => {
      const { api, terminal } = openContext(command);
      const { record: service } = await requireService(api, nameOrId);
      const path = `${servicePath(service.service_id)}/credential/test`;
      const tested = readAnswer(credentialTest, await api.call('POST', path, { isAdmin: true }));
      terminal.json(tested);
      if (!tested.ok) throw new CliFailure('failure', `It does not work. The issuer says: ${describeFailure(tested)}`);
      if (tested.redirect_uri !== undefined) terminal.say(`The issuer must know this redirect URI: ${tested.redirect_uri}`);
      terminal.say(
        tested.grant === 'client'
          ? 'The gate has obtained a token, and discarded it.'
          : 'The issuer is known. Connect to it with "connect".',
      );
    });
  credential
    .command('status <service>')
    .description("Show how many people are connected to a service, and its issuer's last refusal")
    .action(async (nameOrId, _, command) => {
      const { api, terminal } = openContext(command);
      const { record: service } = await requireService(api, nameOrId);
      terminal.record(await readStatus(api, service.service_id));
    });
}

export function addConnections(program: CommandUnknownOpts): void {
  const services = groupOf(program, 'services');
  const credential = services && groupOf(services, 'credential');
  if (credential) addCredentialCommands(credential);
  program
    .command('connect <service>')
    .description('Let agents that act for you call a service as you: opens its page in the browser, and waits until you have agreed')
    .option('--no-open', 'only print the address of the page')
    .action(async (nameOrId, { open }, command) => {
      const { api, terminal } = openContext(command);
      const { record: service } = await requireService(api, nameOrId);
      const before = (await listConnections(api)).find(({ service_id }) => service_id === service.service_id);
      const page = `${api.baseUrl}/connect/${service.service_id}`;
      terminal.remark(`Agree in your browser, signed in as the same person as here: ${page}`);
      if (open) openPage(page);
      const connection = await waitForConnection(api, service, before);
      terminal.result(connection, `Agents that act for you now call ${service.service_name} as you.`);
    });
  const connections = program.command('connections').description('Manage the services that agents call as you');
  connections
    .command('list')
    .description('List them')
    .action(async (_, command) => {
      const { api, terminal } = openContext(command);
      const found = await listConnections(api);
      terminal.table(
        found.map(({ service_id, service_name = '', state, connected_at, scopes, failure }) => [
          ...[service_id, service_name, state === 'connected' ? `since ${connected_at}` : 'to be connected again', scopes.join(' ')],
          failure === undefined ? '' : describeFailure(failure),
        ]),
      );
      if (found.length === 0) terminal.remark('You are connected to no service.');
      terminal.json(found);
    });
  connections
    .command('end <service>')
    .description('End one: no call begins with your token any more')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (nameOrId, { yes }, command) => {
      const { api, terminal } = openContext(command);
      const found = (await listConnections(api)).find((one) => nameOrId === one.service_id || nameOrId === one.service_name);
      if (!found) throw new CliFailure('failure', 'You are not connected to such a service. "connections list" lists those that you are.');
      const name = found.service_name ?? found.service_id;
      await terminal.requireConfirmation(`End your connection to ${name}?`, yes);
      await api.call('DELETE', `/api/connections/${encodeURIComponent(found.service_id)}`, { isAdmin: true });
      terminal.result({ service_id: found.service_id, ended: true }, `No call to ${name} is made as you any more.`);
    });
}
