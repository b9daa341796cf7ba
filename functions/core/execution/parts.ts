import { openAnnouncements } from '../../approvals/announce.ts';
import { openStart } from '../aws/invoke-function.ts';
import { openRateLimiter, type RateLimiter } from '../limit/rate-limiter.ts';
import { type Authenticate, authenticatorFromEnvironment } from '../pat/authenticate.ts';
import type { FindPolicy } from '../policy/policy.ts';
import { type LiveIntents, openLiveIntents } from '../registry/live-intents.ts';
import { type Relay, relayFromEnvironment } from '../relay/call.ts';
import { readEnvironment } from '../runtime/environment.ts';
import type { Table } from '../table/table.ts';
import type { Around } from './around.ts';
import type { DeferralParts } from './defer.ts';
import { openDeferredCalls } from './deferred-call-store.ts';
import { type IdempotentCalls, openIdempotentCalls } from './idempotent-call-store.ts';
import { type SlowCalls, slowCallsFromEnvironment } from './slow-calls.ts';

/** Dependencies of executions. */
export interface ExecutionParts {
  authenticate: Authenticate;
  intents: Pick<LiveIntents, 'findWith' | 'versions'>;
  calls: IdempotentCalls;
  limits: RateLimiter;
  relay: Pick<Relay, 'connect'>;
  slowCalls: SlowCalls;
  deferral: Omit<DeferralParts, 'calls' | 'intents'>;
  around: Around;
  now?: () => number;
}

export function partsFromEnvironment(table: Table, findPolicy: FindPolicy, around: Around): ExecutionParts {
  const { approvalSeconds } = readEnvironment(['approvalSeconds']);
  return {
    authenticate: authenticatorFromEnvironment(table, findPolicy),
    intents: openLiveIntents(table),
    calls: openIdempotentCalls(table),
    limits: openRateLimiter(table),
    slowCalls: slowCallsFromEnvironment(table),
    deferral: {
      deferred: openDeferredCalls(table),
      start: openStart(),
      announce: openAnnouncements(),
      approvalSeconds: Number(approvalSeconds),
    },
    around,
    relay: relayFromEnvironment(),
  };
}
