import { type Command, type CommandUnknownOpts, Option, type OptionValues } from '@commander-js/extra-typings';
import { readLines } from '../../../client/lines.ts';
import { issuesOf } from '../../../functions/core/json/json.ts';
import { readAnswer } from '../../../registry/api.ts';
import { CliFailure, usageFailure } from '../../../registry/failure.ts';
import { readInput } from '../../../registry/input.ts';
import { requireService, servicePath } from '../../../registry/read.ts';
import { savedCredential } from '../../../schemas/credential.ts';
import { type CredentialInput, credentialInput } from '../../../schemas/credential-input.ts';
import { shownService } from '../../../schemas/service.ts';
import { openContext } from '../context.ts';
import type { Terminal } from '../terminal.ts';

interface Place {
  /** without dashes; with the suffix `-from-env`, the option takes an environment variable */
  option: string;
  kind: 'headers' | 'query';
  isNext?: true;
  what: string;
  /** of an option for a scheme of Authorization: its secret, and how the header field contains it. Other options take names */
  scheme?: { secret: string; write(secret: string): string };
}

/** In the order in which values are prompted for and read from stdin. */
const places: Place[] = [
  {
    option: 'bearer',
    kind: 'headers',
    what: 'header field Authorization with the scheme bearer',
    scheme: { secret: 'the token', write: (token) => `Bearer ${token.replace(/^Bearer +/i, '')}` },
  },
  {
    option: 'basic',
    kind: 'headers',
    what: 'header field Authorization with the scheme basic',
    scheme: {
      secret: 'name:password',
      write(pair) {
        if (!pair.includes(':')) throw usageFailure('--basic needs a name and a password, separated by a colon.');
        return `Basic ${Buffer.from(pair).toString('base64')}`;
      },
    },
  },
  { option: 'header', kind: 'headers', what: 'header field' },
  { option: 'query', kind: 'query', what: 'query parameter' },
  { option: 'next-header', kind: 'headers', isNext: true, what: 'header field of the next credential' },
  { option: 'next-query', kind: 'query', isNext: true, what: 'query parameter of the next credential' },
];

/** Adds options that say where to read values. Options never contain values, which shell histories and process lists would reveal. */
function addValues<Words extends unknown[]>(command: Command<Words, OptionValues, OptionValues>) {
  for (const { option, what, scheme } of places) {
    const value = scheme?.secret ?? 'the value';
    const [names, variables] = scheme ? ['', ' <VARIABLE>'] : [' <name...>', ' <name=VARIABLE...>'];
    command.addOption(new Option(`--${option}${names}`, `${what}; prompts for ${value}, or reads it from stdin`));
    command.addOption(new Option(`--${option}-from-env${variables}`, `${what}; reads ${value} from an environment variable`));
  }
  return command;
}

type Given = Record<string, string[] | string | true | undefined>;

const attributeOf = (flag: string): string => new Option(`--${flag} <value>`).attributeName();

async function readValues(given: Given, terminal: Terminal): Promise<Partial<CredentialInput>> {
  const values = { headers: {}, query: {} } as Record<Place['kind'], Record<string, string>>;
  const next = { headers: {}, query: {} } as typeof values;
  const ask = terminal.isInteractive ? askPerson(terminal) : readValueLines();
  for (const { option, kind, isNext, scheme } of places) {
    const into = (isNext ? next : values)[kind];
    const add = (name: string, value: string) => {
      if (Object.hasOwn(into, name)) throw usageFailure(`${name} is given twice.`);
      if (kind === 'headers' && isAuthorization(name) && !/^\S+ +\S/.test(value))
        terminal.remark(`The value of ${name} has no scheme. Most services expect "Bearer <token>", which --bearer adds.`);
      into[name] = value;
    };
    const fromEnv = given[attributeOf(`${option}-from-env`)];
    if (scheme && fromEnv !== undefined) add('Authorization', scheme.write(readVariable(String(fromEnv), option, 'Authorization')));
    else if (scheme && given[option]) add('Authorization', scheme.write(await ask('Authorization', scheme.secret)));
    for (const name of listOf(given[attributeOf(option)])) {
      // the message does not repeat the name, which may be a secret
      if (!/^[\x21-\x39\x3b\x3c\x3e-\x7e]{1,100}$/.test(name))
        throw usageFailure(`--${option} takes only a name, for example --header Authorization. You are prompted for the value.`);
      add(name, await ask(name, isAuthorization(name) ? 'such as Bearer <token>' : undefined));
    }
    for (const pair of listOf(fromEnv)) {
      const [, name, variable] = /^([^=\s:]+)=(\w+)$/.exec(pair) ?? [];
      if (name === undefined || variable === undefined)
        throw usageFailure(`--${option}-from-env takes a name and a variable, for example Authorization=TOKEN.`);
      add(name, readVariable(variable, option, name));
    }
  }
  const used = (some: typeof values) => Object.fromEntries(Object.entries(some).filter(([, named]) => Object.keys(named).length > 0));
  return { ...used(values), ...(Object.keys(used(next)).length > 0 && { next: used(next) }) };
}

const isAuthorization = (name: string): boolean => name.toLowerCase() === 'authorization';

const askPerson = (terminal: Terminal) => (name: string, hint?: string) =>
  terminal.askSecret(`Value of ${name}${hint === undefined ? '' : ` (${hint})`}: `);

const listOf = (given: Given[string]): string[] => (Array.isArray(given) ? given : []);

function readVariable(variable: string, option: string, name: string): string {
  const value = process.env[variable];
  if (value) return value;
  // the message does not repeat the variable, which may be a secret given by mistake
  throw usageFailure(`The variable that --${option}-from-env names for ${name} is not set.`);
}

/** Reads a value per line of stdin, in the order of the options in --help. */
function readValueLines() {
  const lines = readLines(process.stdin);
  return async (name: string): Promise<string> => {
    const { value = '' } = await lines.next();
    if (value !== '') return value;
    throw usageFailure(
      `There is no terminal for a prompt, and stdin has no line with the value of ${name}. Pipe it in, or use an environment variable.`,
    );
  };
}

async function readCredential({ file, origin, ...given }: OptionValues & { file?: string; origin?: string[] }, terminal: Terminal) {
  const isGiven = (option: string) => (given[attributeOf(option)] ?? given[attributeOf(`${option}-from-env`)]) !== undefined;
  const isCurrent = places.some(({ option, isNext }) => !isNext && isGiven(option));
  const isNext = places.some(({ option, isNext }) => isNext && isGiven(option));
  const isNamed = isCurrent || isNext;
  if (file !== undefined && isNamed) throw usageFailure('Give the values either in the file or with options, not both.');
  if (file === undefined && !isNamed)
    throw usageFailure('No values given. Name one, for example with --header Authorization or --bearer (run with --help for usage).');
  if (isNext && !isCurrent)
    throw usageFailure(
      'Give the current values as well, for example --header Authorization --next-header Authorization, because the gate cannot read the stored ones. "services credential show" lists their names.',
    );
  const values = file === undefined ? await readValues(given as Given, terminal) : ((await readInput(file)) as object);
  const { success, data, error } = credentialInput.safeParse({ ...values, ...(origin && { origins: origin }) }, { reportInput: true });
  if (!success) throw usageFailure('The credential is invalid:', issuesOf(error));
  return data;
}

const listNames = ({ headers = [], query = [] }: { headers?: string[] | undefined; query?: string[] | undefined }): string =>
  [...headers.map((name) => `header ${name}`), ...query.map((name) => `query ${name}`)].join(', ');

export function addCredential(services: CommandUnknownOpts): void {
  const credential = services.command('credential').description('Manage the credential that the gate sends to a service');
  addValues(credential.command('set <service>') as Command<[string], OptionValues, OptionValues>)
    .description('Replace the credential. Values are prompted for, or read from stdin, a file or environment variables')
    .option('--origin <origin...>', 'where to send it, such as https://api.example.com; default: the origin of service_url')
    .option('-f, --file <file>', 'headers, query, origins and next as JSON or YAML; - for stdin')
    .action(async (nameOrId: string, options, command) => {
      const { api, terminal } = openContext(command);
      const { record: service } = await requireService(api, nameOrId);
      const body = await readCredential(options, terminal);
      const path = `${servicePath(service.service_id)}/credential`;
      const saved = readAnswer(savedCredential, await api.call('PUT', path, { body, isAdmin: true }));
      terminal.say(`Credential of ${service.service_name} set: ${listNames(saved)}, sent only to ${saved.origins.join(', ')}.`);
      if (saved.next) terminal.say(`After a 401, they are repeated with ${listNames(saved.next)}.`);
      for (const warning of saved.warnings ?? []) terminal.say(`Warning: ${warning}`);
      terminal.json(saved);
    });
  credential
    .command('remove <service>')
    .description('Remove the credential')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (nameOrId, { yes }, command) => {
      const { api, terminal } = openContext(command);
      const { record: service } = await requireService(api, nameOrId);
      await terminal.requireConfirmation(`Remove the credential of ${service.service_name}?`, yes);
      await api.call('DELETE', `${servicePath(service.service_id)}/credential`, { isAdmin: true });
      terminal.result({ service_id: service.service_id, removed: true }, `Removed the credential of ${service.service_name}.`);
    });
  credential
    .command('show <service>')
    .description('Show the names and origins, who set them and when, but never a value')
    .action(async (nameOrId, _, command) => {
      const { api, terminal } = openContext(command);
      const { record: service } = await requireService(api, nameOrId);
      const shown = readAnswer(shownService, await api.call('GET', servicePath(service.service_id), { isAdmin: true }));
      if (shown.credential === undefined)
        throw new CliFailure('credentials', "The gate does not accept the token as an admin's. Sign in with: npx intent-gate login");
      if (shown.credential === null) terminal.result(null, `${service.service_name} has no credential.`);
      else terminal.record(shown.credential);
    });
}
