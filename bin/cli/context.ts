import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { isLoopbackHost, readAddress } from '../../client/address.ts';
import { readDescription } from '../local/stack-file.ts';
import { type Api, openApi } from './api.ts';
import { usageFailure } from './failure.ts';
import { listSessions, openTokens } from './session.ts';
import { openTerminal, type Terminal } from './terminal.ts';

export type CliContext = ReturnType<typeof openContext>;

/** What the registry is compared and changed with. */
export interface RegistryContext {
  readonly api: Api;
  terminal: Pick<Terminal, 'progress'> & Partial<Pick<Terminal, 'watchInterrupt'>>;
}

/** What people copy from a browser or a host's settings in place of the address of the gate: its pages, documents and endpoint for MCP. */
const ownPages = /\/(?:console|docs|mcp|openapi\.json|agents\.json|llms\.txt)(?:\/.*)?$/;

/**
 * The gate that is meant if `--url` names none: `INTENT_GATE_URL`, else the stack that `npm start` runs here, else the only gate that somebody is
 * signed in to.
 */
export function findBaseUrl(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const [only, ...others] = listSessions(environment);
  return environment.INTENT_GATE_URL || (readDescription()?.base_url ?? (others.length === 0 ? only : undefined));
}

/** The gate's address: `--url`, else that of {@link findBaseUrl}. Addresses of its pages are understood. */
export function chooseBaseUrl(given: string | undefined, environment: NodeJS.ProcessEnv = process.env): string {
  const address = given ?? findBaseUrl(environment);
  if (address === undefined || address === '') {
    const known = address === undefined ? listSessions(environment) : [];
    const signedIn = known.length > 1 ? `You are signed in to ${known.join(' and ')}. ` : '';
    throw usageFailure(`Which gate? ${signedIn}Give its address with --url or INTENT_GATE_URL, or start one here with "npm start".`);
  }
  try {
    return readAddress(address).replace(ownPages, '');
  } catch (error) {
    throw usageFailure(`${(error as TypeError).message.replace(/^t/, 'T')}.`);
  }
}

/** What every command works with. */
export function openContext(command: Pick<CommandUnknownOpts, 'optsWithGlobals'>) {
  const { url, json = false } = command.optsWithGlobals() as { url?: string; json?: boolean };
  let api: Api | undefined;
  return {
    /** of the gate that is meant; a command that needs no gate does not ask for it */
    get api(): Api {
      if (api === undefined) {
        const baseUrl = chooseBaseUrl(url);
        api = openApi(baseUrl, openTokens(baseUrl));
      }
      return api;
    },
    terminal: openTerminal(json),
    /** `--url` */
    url,
  };
}

/** Addresses of this machine, for which http is allowed and loopback is meant. */
export const isLoopback = (baseUrl: string): boolean => isLoopbackHost(new URL(baseUrl).hostname);

export const concurrencyOption = new Option('--concurrency <count>', 'how many requests at a time, 1 to 64')
  .default(16, '"16"')
  .argParser((text) => {
    const count = /^[0-9]{1,2}$/.test(text) ? Number(text) : 0;
    if (count < 1 || count > 64) throw usageFailure('--concurrency takes a whole number from 1 to 64.');
    return count;
  });
