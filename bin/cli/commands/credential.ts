import { createInterface } from 'node:readline';
import { type Command, type CommandUnknownOpts, Option, type OptionValues } from '@commander-js/extra-typings';
import { issuesOf } from '../../../functions/core/json.ts';
import { type CredentialInput, credentialInput, savedCredential } from '../../../schemas/credential.ts';
import { shownService } from '../../../schemas/service.ts';
import { readAnswer } from '../../probes.ts';
import { openContext } from '../context.ts';
import { CliFailure, usageFailure } from '../failure.ts';
import { readInput } from '../input.ts';
import { requireService, servicePath } from '../registry/read.ts';
import type { Terminal } from '../terminal.ts';

/** One value of a credential: what the option that names it says about it. */
interface Place {
  /** the option, without dashes; with `-from-env` it takes the value from a variable */
  option: string;
  kind: 'headers' | 'query';
  isNext: boolean;
  what: string;
}

/** Ways to write the header field Authorization, whose scheme the person then need not type. */
const schemes = {
  bearer: { what: 'the token', write: (token: string) => `Bearer ${token.replace(/^Bearer +/i, '')}` },
  basic: {
    what: 'name:password',
    write: (pair: string) => {
      if (!pair.includes(':')) throw usageFailure('--basic takes a name and a password with a colon between them.');
      return `Basic ${Buffer.from(pair).toString('base64')}`;
    },
  },
} as const;

const schemeNames = Object.keys(schemes) as (keyof typeof schemes)[];

const places: Place[] = [
  { option: 'header', kind: 'headers', isNext: false, what: 'header field' },
  { option: 'query', kind: 'query', isNext: false, what: 'query parameter' },
  { option: 'next-header', kind: 'headers', isNext: true, what: 'header field that the upstream is about to take instead' },
  { option: 'next-query', kind: 'query', isNext: true, what: 'query parameter that the upstream is about to take instead' },
];

/** Values are never options themselves: these stay in the history of shells, and everyone on the machine can see them. */
function addValues<Words extends unknown[]>(command: Command<Words, OptionValues, OptionValues>) {
  for (const scheme of schemeNames) {
    const { what } = schemes[scheme];
    command.addOption(
      new Option(`--${scheme}`, `header field Authorization of the scheme ${scheme}; ${what} is asked for, or read from stdin`),
    );
    command.addOption(new Option(`--${scheme}-from-env <VARIABLE>`, `the same, with ${what} in a variable of the environment`));
  }
  for (const { option, what } of places) {
    command.addOption(new Option(`--${option} <name...>`, `${what}; its value is asked for, or read from stdin`));
    command.addOption(new Option(`--${option}-from-env <name=VARIABLE...>`, `${what}, with the value of a variable of the environment`));
  }
  return command;
}

type Given = Record<string, string[] | string | true | undefined>;

const attributeOf = (flag: string): string => new Option(`--${flag} <value>`).attributeName();

/** @throws CliFailure if a value is not to be had */
async function readValues(given: Given, terminal: Terminal): Promise<Partial<CredentialInput>> {
  const values = { headers: {}, query: {} } as Record<Place['kind'], Record<string, string>>;
  const next = { headers: {}, query: {} } as typeof values;
  const ask = terminal.isInteractive ? askPerson(terminal) : readLines();
  for (const scheme of schemeNames) {
    const { what, write } = schemes[scheme];
    const variable = given[attributeOf(`${scheme}-from-env`)];
    const value =
      variable === undefined
        ? given[scheme] && (await ask('Authorization', what))
        : readVariable(String(variable), scheme, 'Authorization');
    if (value === undefined) continue;
    if (values.headers.Authorization !== undefined) throw usageFailure('Give either --bearer or --basic.');
    values.headers.Authorization = write(value);
  }
  for (const { option, kind, isNext } of places) {
    const into = (isNext ? next : values)[kind];
    const add = (name: string, value: string) => {
      if (Object.hasOwn(into, name)) throw usageFailure(`The options name ${name} twice.`);
      if (kind === 'headers' && isAuthorization(name) && !/^\S+ +\S/.test(value))
        terminal.remark(`The value of ${name} names no scheme. Most services expect "Bearer <token>", which --bearer writes.`);
      into[name] = value;
    };
    for (const name of listOf(given[attributeOf(option)])) {
      // not repeated: it may be a secret
      if (!/^[\x21-\x39\x3b\x3c\x3e-\x7e]{1,100}$/.test(name))
        throw usageFailure(`--${option} takes a name alone, for example --header Authorization. Its value is asked for.`);
      add(name, await ask(name, isAuthorization(name) ? 'such as Bearer <token>' : undefined));
    }
    for (const pair of listOf(given[attributeOf(`${option}-from-env`)])) {
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
  // its name is not repeated: it may be a secret that was given by mistake
  throw usageFailure(`The variable that --${option}-from-env names for ${name} is not set.`);
}

/** The lines of stdin, one for each value, in the order of the options in --help. */
function readLines() {
  let lines: AsyncIterator<string> | undefined;
  return async (name: string): Promise<string> => {
    lines ??= createInterface({ input: process.stdin })[Symbol.asyncIterator]();
    const { value, done } = await lines.next();
    if (!done && value !== '') return value;
    throw usageFailure(`There is no terminal to ask on, and stdin has no line with the value of ${name}. Pipe it in, or use a variable.`);
  };
}

async function readCredential({ file, origin, ...given }: OptionValues & { file?: string; origin?: string[] }, terminal: Terminal) {
  const isGiven = (option: string) => (given[attributeOf(option)] ?? given[attributeOf(`${option}-from-env`)]) !== undefined;
  const isCurrent = [...schemeNames, 'header', 'query'].some(isGiven);
  const isNext = places.some(({ option, isNext }) => isNext && isGiven(option));
  const isNamed = isCurrent || isNext;
  if (file !== undefined && isNamed) throw usageFailure('Name the values either in the file or by options.');
  if (file === undefined && !isNamed)
    throw usageFailure('Which values? Name one, for example with --header Authorization or --bearer; --help lists the ways.');
  if (isNext && !isCurrent)
    throw usageFailure(
      'Give the values in use as well, for example --header Authorization --next-header Authorization. The gate keeps values where it cannot read them to set them anew; "services credential show" names them.',
    );
  const values = file === undefined ? await readValues(given as Given, terminal) : ((await readInput(file)) as object);
  const { success, data, error } = credentialInput.safeParse({ ...values, ...(origin && { origins: origin }) }, { reportInput: true });
  if (!success) throw usageFailure('The credential is not valid:', issuesOf(error));
  return data;
}

const listNames = ({ headers = [], query = [] }: { headers?: string[] | undefined; query?: string[] | undefined }): string =>
  [...headers.map((name) => `header ${name}`), ...query.map((name) => `query ${name}`)].join(', ');

export function addCredential(services: CommandUnknownOpts): void {
  const credential = services
    .command('credential')
    .description('What calls of a service carry, by which it recognises the gate: set, remove, show');
  addValues(credential.command('set <service>') as Command<[string], OptionValues, OptionValues>)
    .description('Set the values, in place of those that the service has. They are asked for, or read from stdin, a file or variables')
    .option('--origin <origin...>', 'where they are sent, such as https://api.example.com; default: the origin of service_url')
    .option('-f, --file <file>', 'headers, query, origins, next and signing_key as JSON or YAML; - for stdin')
    .action(async (nameOrId: string, options, command) => {
      const { api, terminal } = openContext(command);
      const { record: service } = await requireService(api, nameOrId);
      const body = await readCredential(options, terminal);
      const path = `${servicePath(service.service_id)}/credential`;
      const saved = readAnswer(savedCredential, await api.call('PUT', path, { body, isAdmin: true }));
      terminal.say(`Calls of ${service.service_name} carry ${listNames(saved)}, at ${saved.origins.join(', ')} and nowhere else.`);
      if (saved.next) terminal.say(`If it answers 401 to them, ${listNames(saved.next)}.`);
      terminal.say(`They are signed with this key, which is shown this once: ${saved.signing_key}`);
      for (const warning of saved.warnings ?? []) terminal.say(`Warning: ${warning}`);
      terminal.json(saved);
    });
  credential
    .command('remove <service>')
    .description('Remove the values; calls are then made without')
    .option('-y, --yes', 'without asking')
    .action(async (nameOrId, { yes }, command) => {
      const { api, terminal } = openContext(command);
      const { record: service } = await requireService(api, nameOrId);
      await terminal.requireConfirmation(`Remove the credential of ${service.service_name}?`, yes);
      await api.call('DELETE', `${servicePath(service.service_id)}/credential`, { isAdmin: true });
      terminal.result({ service_id: service.service_id, removed: true }, `${service.service_name} has no credential any more.`);
    });
  credential
    .command('show <service>')
    .description('Show names and origins, who has set it and when; never a value')
    .action(async (nameOrId, _, command) => {
      const { api, terminal } = openContext(command);
      const { record: service } = await requireService(api, nameOrId);
      const shown = readAnswer(shownService, await api.call('GET', servicePath(service.service_id), { isAdmin: true }));
      if (shown.credential === undefined)
        throw new CliFailure('credentials', 'The gate does not take the token for that of an admin. Sign in with: intent-gate login');
      if (shown.credential === null) terminal.result(null, `${service.service_name} has no credential.`);
      else terminal.record(shown.credential);
    });
}
