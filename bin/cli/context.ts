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
 * The gate's address: `--url`, else `INTENT_GATE_URL`, else that of the stack that `npm start` runs here, else of the only gate that
 * somebody is signed in to. Addresses of its pages are understood.
 */
export function chooseBaseUrl(given: string | undefined, environment: NodeJS.ProcessEnv = process.env): string {
  const chosen = given ?? (environment.INTENT_GATE_URL || readDescription()?.base_url);
  const known = chosen === undefined ? listSessions(environment) : [];
  const address = chosen ?? (known.length === 1 ? known[0] : undefined);
  if (address === undefined || address === '') {
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
