import { connect, type IntentGate, type Upstream, upstreamOf } from '../../client/connect.ts';
import type { Unreachable } from '../../client/errors.ts';
import { readFailure } from '../../client/http.ts';
import { openIndexedDbKeyStore } from '../../client/indexed-db-key-store.ts';
import { type ReceiptFile, receiptOf } from '../../client/receipts.ts';
import type { ExecutionState, PendingExecution } from '../../client/types.ts';
import { parseExact } from '../../schemas/number.ts';
import { readCallsLeft } from './calls-left.ts';
import { askConsent } from './consent.tsx';
import { deployment } from './deployment.ts';
import { gateUrl, pagePat, Unanswered } from './gate.ts';
import { keep, readKept } from './store.ts';

/** The page's agent id, which stays the same across visits, because it belongs to the page's key. */
function ownAgentId(): string {
  const kept = localStorage.getItem('agent-id');
  if (kept !== null) return kept;
  const made = `page-${crypto.randomUUID()}`;
  localStorage.setItem('agent-id', made);
  return made;
}

interface ExecutionFacts {
  executionId: string | undefined;
  /** remaining calls and the quota */
  left: string | undefined;
}

let gate: Promise<IntentGate> | undefined;
/** what the header fields of the last answer to each call say, by idempotency key */
const factsOf = new Map<string, ExecutionFacts>();

/** Stores the accepted policy's digest while the tab is open; the PAT stays in memory. */
const agreementStore = {
  load: async () => {
    const digest = readKept<string | undefined>('accepted-policy', undefined);
    return digest === undefined ? undefined : { digest };
  },
  save: async (_url: string, { digest }: { digest: string }) => keep('accepted-policy', digest),
};

const openAgent = (): Promise<IntentGate> => {
  gate ??= connect(gateUrl, {
    agentId: ownAgentId(),
    keyStore: openIndexedDbKeyStore(),
    publicUrl: deployment.publicUrl,
    agreementStore,
    onPolicy: (_policy, inWords, changes) => askConsent(inWords, changes),
    maxAttempts: 1,
    maxWaitMs: 0,
    parse: parseExact,
    fetch: async (address, request) => {
      const answer = await fetch(address, request);
      const executionId = answer.headers.get('execution-id') ?? undefined;
      const key = new Headers(request?.headers).get('idempotency-key');
      if (key !== null) factsOf.set(key, { executionId, left: readCallsLeft(answer.headers) });
      return answer;
    },
  });
  return gate;
};

/**
 * A PAT for the key of this page, once the policy has been accepted.
 * @throws IntentGateError
 */
export async function obtainPat(): Promise<string> {
  const { pat } = await (await openAgent()).obtainPat();
  pagePat.set(pat);
  return pat;
}

/** A call that is being made in this tab. */
export interface NewCall {
  /** when it was made, in milliseconds since the epoch, which identifies it */
  at: number;
  intentUid: string;
  parameters: Record<string, unknown>;
  /** idempotency key, with which it can be followed after a reload */
  key: string;
  /** the last state of a deferred call, while its outcome is awaited */
  pending?: PendingExecution | undefined;
}

export interface Ran {
  answer: Record<string, unknown>;
  facts: ExecutionFacts;
  upstream: Upstream | undefined;
  receipt: ReceiptFile | undefined;
}

/**
 * Runs an intent with the key of this page, once the policy has been accepted.
 * @param onPending - receives the state of a deferred call, for example one that awaits approval
 * @throws IntentGateError, or Unanswered if the call may have been made
 */
export async function runIntent(
  { intentUid, parameters, key, pending }: NewCall,
  onPending: (state: PendingExecution) => void,
): Promise<Ran> {
  const agent = await openAgent();
  await obtainPat();
  if (pending) refuseAsBefore(await agent.readExecution(pending.execution));
  const answer = await agent.execute(intentUid, parameters, { idempotencyKey: key, wait: onPending }).catch((error: unknown) => {
    throw (error as Partial<Unreachable>).effect
      ? new Unanswered('Run it again to get the answer: the same call is not made twice.')
      : error;
  });
  const facts = factsOf.get(key) ?? { executionId: undefined, left: undefined };
  return { answer, facts, upstream: upstreamOf(answer), receipt: receiptOf(answer) };
}

/** @throws Refusal if the call has been refused. To repeat it could make another call, because its idempotency key may be free again */
function refuseAsBefore(state: ExecutionState): void {
  if (state.status !== 'done' || state.outcome.status < 400) return;
  const seen = { request: state.execution, headers: new Headers(), bytes: new Uint8Array(), text: '', durationMs: 0 };
  throw readFailure({ ...seen, ...state.outcome });
}
