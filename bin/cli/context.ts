import type { Command } from 'commander';
import { type Api, openApi } from './api.ts';
import { usageFailure } from './failure.ts';
import { openTokens, readLocalStack } from './session.ts';
import { openTerminal, type Terminal } from './terminal.ts';

/** What every command works with. */
export interface CliContext {
  api: Api;
  terminal: Terminal;
}

/** The gate's address: `--url`, else `INTENT_GATE_URL`, else that of the stack that `npm start` runs here. */
export function chooseBaseUrl(given: string | undefined, environment: NodeJS.ProcessEnv = process.env): string {
  const chosen = given ?? environment.INTENT_GATE_URL ?? readLocalStack()?.base_url;
  if (chosen === undefined || chosen === '') {
    throw usageFailure('Which gate? Give its address with --url or INTENT_GATE_URL, or start one here with "npm start".');
  }
  if (!/^https?:$/.test(URL.parse(chosen)?.protocol ?? ''))
    throw usageFailure('The address of the gate must begin with https:// or http://.');
  return chosen.replace(/\/+$/, '');
}

export function openContext(command: Command): CliContext {
  const { url, json = false } = command.optsWithGlobals<{ url?: string; json?: boolean }>();
  const baseUrl = chooseBaseUrl(url);
  return { api: openApi(baseUrl, openTokens(baseUrl)), terminal: openTerminal(json) };
}

/** Addresses of this machine, for which http is allowed and loopback is meant. */
export const isLoopback = (baseUrl: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(baseUrl).hostname);
