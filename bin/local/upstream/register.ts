import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '../../../client/errors.ts';
import { openApi } from '../../../registry/api.ts';
import { applyChanges } from '../../../registry/apply.ts';
import { compareService } from '../../../registry/compare.ts';
import { type FileService, readRegistryFile } from '../../../registry/file.ts';
import { readDocument } from '../../../registry/import/document.ts';

export interface Registration {
  baseUrl: string;
  adminToken: string;
  upstreamUrl: string;
  /** whether the registry is known to be empty, so that comparing with it would only start functions that are not otherwise needed */
  isEmpty?: boolean;
  signal?: AbortSignal | undefined;
}

/** The services and intents of the sample registry file, for an upstream at `upstreamUrl`. */
export function readDemo(upstreamUrl: string): FileService[] {
  const text = readFileSync(new URL('../../../samples/world.yaml', import.meta.url), 'utf8');
  return readRegistryFile(readDocument(text.replaceAll('https://world.example', upstreamUrl)));
}

/** Few, because each concurrent request starts another environment of a function. */
const concurrency = 2;

/**
 * Registers the demo upstream's service and intents through the public API, as the command `apply` does. Idempotent, even if the
 * upstream's address has changed.
 * @throws Error with a one-sentence message if the API does not answer as expected
 */
export async function registerDemo({ baseUrl, adminToken, upstreamUrl, isEmpty = false, signal }: Registration): Promise<void> {
  const api = openApi(baseUrl, { get: async () => adminToken }, { sleep: (ms) => sleep(ms, undefined, { signal }) });
  const context = { api, terminal: { progress: () => ({ step() {}, end() {} }) } };
  const known = isEmpty ? { service: undefined, intents: new Map() } : undefined;
  try {
    for (const wanted of readDemo(upstreamUrl)) {
      const [failure] = (await applyChanges(context, await compareService(context, wanted, concurrency, false, known), false)).failed;
      if (failure) throw new Error(`${failure.intent_uid}: ${failure.message}`);
    }
  } catch (cause) {
    const status = cause instanceof Refusal ? `the gate answered ${cause.status}, ` : '';
    throw new Error(`The demo could not be registered: ${status}${(cause as Error).message}`, { cause });
  }
}
