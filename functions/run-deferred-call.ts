import * as z from 'zod';
import { longestCallSeconds, longestRunSeconds } from '../schemas/deferred.ts';
import { openDeferredCalls } from './core/execution/deferred-call-store.ts';
import { type DeferredRunParts, openDeferredRun } from './core/execution/deferred-worker.ts';
import { openResolver, resolverParts } from './core/execution/resolve.ts';
import { serveSchedule } from './core/http/serve.ts';
import { openRateLimiter } from './core/limit/rate-limiter.ts';
import { openLiveIntents } from './core/registry/live-intents.ts';
import { policyFromEnvironment } from './core/registry/policy-in-force.ts';
import { relayFromEnvironment } from './core/relay/call.ts';
import { tableFromEnvironment } from './core/table/table.ts';
import { executionFeatures, protocols, signersFromEnvironment } from './features.ts';

const started = z.object({ execution_id: z.string() });

const table = tableFromEnvironment();
const { around, ...resolving } = executionFeatures(table);

/** Makes a deferred call. If Lambda runs the function twice, the call is still made once. */
export function createRun(parts: DeferredRunParts): (event: unknown, remainingMs: () => number) => Promise<void> {
  const run = openDeferredRun(parts);
  return (event, remainingMs) => run(started.parse(event).execution_id, remainingMs);
}

const run = createRun({
  deferred: openDeferredCalls(table),
  intents: openLiveIntents(table),
  resolve: openResolver({ ...resolverParts(table, { leaseSeconds: longestRunSeconds }), ...resolving }).resolve,
  findPolicy: policyFromEnvironment(table),
  limits: openRateLimiter(table),
  relay: relayFromEnvironment({ signers: signersFromEnvironment(), maxDeadlineMs: longestCallSeconds * 1_000 }, protocols),
  around,
  now: Date.now,
});

export const handler = serveSchedule(run);
