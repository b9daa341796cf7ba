import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { isLoopbackHost, readAddress } from '../../client/address.ts';
import { type Api, openApi } from '../../registry/api.ts';
import { usageFailure } from '../../registry/failure.ts';
import { parseExact } from '../../schemas/number.ts';
import type { Parameter } from '../../schemas/parameter.ts';
import { readDescription } from '../local/stack-file.ts';
import { listSessions, openTokens } from './session.ts';
import { openTerminal } from './terminal.ts';

export type CliContext = ReturnType<typeof openContext>;

/** Paths of the gate's pages and endpoints, which users paste instead of its base URL. */
const ownPages = /\/(?:console|docs|mcp|openapi\.json|agents\.json|llms\.txt)(?:\/.*)?$/;

/** `INTENT_GATE_URL`, else the running local stack, else the gate of the only session. */
export function findBaseUrl(): string | undefined {
  const [only, ...others] = listSessions();
  return process.env.INTENT_GATE_URL || (readDescription()?.base_url ?? (others.length === 0 ? only : undefined));
}

/** `--url`, else {@link findBaseUrl}. Accepts URLs of the gate's pages. */
export function chooseBaseUrl(given: string | undefined): string {
  const address = given ?? findBaseUrl();
  if (address === undefined || address === '') {
    const known = address === undefined ? listSessions() : [];
    const signedIn = known.length > 1 ? `You are signed in to ${known.join(' and ')}. ` : '';
    throw usageFailure(`No gate selected. ${signedIn}Give its address with --url or INTENT_GATE_URL, or start one with "npm start".`);
  }
  try {
    return readAddress(address).replace(ownPages, '');
  } catch (error) {
    throw usageFailure(`${(error as TypeError).message.replace(/^t/, 'T')}.`);
  }
}

export function openContext(command: Pick<CommandUnknownOpts, 'optsWithGlobals'>) {
  const { url, json, csv } = command.optsWithGlobals() as { url?: string; json?: true; csv?: true };
  const terminal = openTerminal((csv && 'csv') || (json && 'json') || 'text');
  let api: Api | undefined;
  return {
    /** opened on first use, because some commands do not need a gate */
    get api(): Api {
      if (api === undefined) {
        const baseUrl = chooseBaseUrl(url);
        api = openApi(baseUrl, openTokens(baseUrl), { onWait: terminal.remarkOnWait });
      }
      return api;
    },
    terminal,
    url,
  };
}

/** The group of commands that `program` has under this name; undefined if the feature that adds it is not there. */
export const groupOf = (program: CommandUnknownOpts, name: string): CommandUnknownOpts | undefined =>
  program.commands.find((command) => command.name() === name);

export const watchOption = new Option('--watch', 'show it again every two seconds, until Ctrl-C');

/** Parses an option that may be repeated. */
export const collect = (value: string, before: string[] = []): string[] => [...before, value];

export const isLoopback = (baseUrl: string): boolean => isLoopbackHost(new URL(baseUrl).hostname);

export const concurrencyOption = new Option('--concurrency <count>', 'number of concurrent requests, 1 to 64')
  .default(16, '"16"')
  .argParser((text) => {
    const count = /^[0-9]{1,2}$/.test(text) ? Number(text) : 0;
    if (count < 1 || count > 64) throw usageFailure('--concurrency must be a whole number from 1 to 64.');
    return count;
  });

/** Parses header fields such as `Api-Version: 2`. */
export function readHeaders(fields: readonly string[] = []): Record<string, string> {
  const read = fields.map((field): [string, string] => {
    const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):[ \t]*(.*[^ \t])[ \t]*$/.exec(field) ?? [];
    if (name === undefined || value === undefined) throw usageFailure("--header takes a name and a value, for example 'Api-Version: 2'.");
    return [name, value];
  });
  return Object.fromEntries(read);
}

/** Parses pairs such as `name=value`. */
export function readPairs<Value>(pairs: readonly string[], read: (written: string, name: string) => Value): Record<string, Value> {
  const entries = pairs.map((pair) => {
    const [, name, written] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
    if (name === undefined || written === undefined) throw usageFailure('--param must have the form name=value.');
    return [name, read(written, name)];
  });
  const names = entries.map(([name]) => name);
  const repeated = names.find((name, at) => names.indexOf(name) < at);
  if (repeated !== undefined) throw usageFailure(`--param gives ${repeated} twice.`);
  return Object.fromEntries(entries);
}

/** Takes strings literally and parses other types as JSON; if the type is unknown, valid JSON wins. The gate validates the value. */
export const readValueFor = (written: string, parameter: Pick<Parameter, 'type'> | undefined): unknown =>
  parameter?.type === 'string' ? written : readJsonOrText(written);

/** JSON if it is valid, else the text itself. */
function readJsonOrText(written: string): unknown {
  try {
    return parseExact(written);
  } catch {
    return written;
  }
}

const unitMs: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Parses a duration such as `90m`, `12h`, `7d` or `4w` to milliseconds; undefined if it is none. */
export function readDurationMs(text: string): number | undefined {
  const [, count, unit = ''] = /^([0-9]{1,5})([mhdw])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (unitMs[unit] ?? 0);
}
