import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '../../../client/errors.ts';
import { openApi } from '../../../registry/api.ts';
import { applyChanges } from '../../../registry/apply.ts';
import { type Change, compareService, type ServiceChanges } from '../../../registry/compare.ts';
import { type FileService, readRegistryFile } from '../../../registry/file.ts';
import { readDocument } from '../../../registry/import/document.ts';

export interface Registration {
  baseUrl: string;
  adminToken: string;
  upstreamUrl: string;
  /** whether the registry probably contains the demo from an earlier run */
  isKept?: boolean;
  signal?: AbortSignal | undefined;
}

/** The services and intents of the sample registry file, for an upstream at `upstreamUrl`. */
export function readDemo(upstreamUrl: string): FileService[] {
  const text = readFileSync(new URL('../../../samples/world.yaml', import.meta.url), 'utf8');
  return readRegistryFile(readDocument(text.replaceAll('https://world.example', upstreamUrl)));
}

/** Assumes that either none or all of the intents exist, because checking would start functions that are not otherwise needed. */
const guessChanges = ({ service, intents }: FileService, kind: Change<unknown>['kind'], serviceId?: string): ServiceChanges => ({
  name: service.service_name,
  serviceId,
  service: { kind: serviceId === undefined ? 'create' : 'update', input: service, differences: [] },
  intents: intents.map((intent) => ({ kind, input: intent, differences: [] })),
  unchanged: 0,
  unwanted: [],
  tags: new Map(),
  foreign: [],
  kept: { service: [], intents: [] },
  otherOrigins: [],
});

/**
 * Registers the demo upstream's service and intents through the public API, as the command `apply` does. Idempotent, even if the
 * upstream's address has changed.
 * @throws Error with a one-sentence message if the API does not answer as expected
 */
export async function registerDemo({ baseUrl, adminToken, upstreamUrl, isKept = false, signal }: Registration): Promise<void> {
  const api = openApi(baseUrl, { get: async () => adminToken }, (ms) => sleep(ms, undefined, { signal }));
  const context = { api, terminal: { progress: () => ({ step() {}, end() {} }) } };
  try {
    for (const wanted of readDemo(upstreamUrl)) {
      const guess = (serviceId?: string) => applyChanges(context, guessChanges(wanted, isKept ? 'update' : 'create', serviceId), false);
      const guessed = await guess().catch((error: unknown) => guess(existingServiceId(error)));
      if (guessed.failed.length === 0) continue;
      const [failure] = (await applyChanges(context, await compareService(context, wanted, 1, false), false)).failed;
      if (failure) throw new Error(`${failure.intent_uid}: ${failure.message}`);
    }
  } catch (cause) {
    const status = cause instanceof Refusal ? `the gate answered ${cause.status}, ` : '';
    throw new Error(`The demo could not be registered: ${status}${(cause as Error).message}`, { cause });
  }
}

function existingServiceId(error: unknown): string {
  const serviceId = error instanceof Refusal && error.status === 409 ? error.details.service_id : undefined;
  if (typeof serviceId === 'string') return serviceId;
  throw error;
}
