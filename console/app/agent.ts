import { connect, type IntentGate, type Upstream, upstreamOf } from '../../client/connect.ts';
import { openIndexedDbKeyStore } from '../../client/indexed-db-key-store.ts';
import { type ReceiptFile, receiptOf } from '../../client/receipts.ts';
import type { PendingExecution } from '../../client/types.ts';
import { parseExact } from '../../schemas/number.ts';
import { readCallsLeft } from './calls-left.ts';
import { askConsent } from './consent.tsx';
import { deployment } from './deployment.ts';
import { gateUrl, pagePat } from './gate.ts';
import { keep, readKept } from './store.ts';

/** The page's agent id, which stays the same across visits, because it belongs to the page's key. */
function ownAgentId(): string {
  const kept = localStorage.getItem('agent-id');
  if (kept !== null) return kept;
  const made = `page-${crypto.randomUUID()}`;
  localStorage.setItem('agent-id', made);
  return made;
}

export interface ExecutionFacts {
  executionId: string | undefined;
  /** remaining calls and the quota */
  left: string | undefined;
}

let gate: Promise<IntentGate> | undefined;
let facts: ExecutionFacts = { executionId: undefined, left: undefined };

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
    fetch: async (...request) => {
      const answer = await fetch(...request);
      const executionId = answer.headers.get('execution-id');
      if (executionId !== null) facts = { executionId, left: readCallsLeft(answer.headers) };
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

/**
 * Runs an intent with the key of this page, once the policy has been accepted.
 * @param onPending - receives the state of a deferred call, for example one that awaits approval
 * @throws IntentGateError
 */
export async function runIntent(
  intentUid: string,
  parameters: object,
  onPending: (state: PendingExecution) => void,
): Promise<{ answer: Record<string, unknown>; facts: ExecutionFacts; upstream: Upstream | undefined; receipt: ReceiptFile | undefined }> {
  const agent = await openAgent();
  await obtainPat();
  const answer = await agent.execute(intentUid, parameters, { wait: onPending });
  return { answer, facts, upstream: upstreamOf(answer), receipt: receiptOf(answer) };
}
