import { createHash, randomBytes } from 'node:crypto';
import { canonicalText } from '../../schemas/canonical.ts';
import { digestIntent } from '../../schemas/intent-digest.ts';
import { openKms } from '../core/aws/kms.ts';
import type { Around } from '../core/execution/around.ts';
import type { Execution, ExecutionHttp } from '../core/execution/execution.ts';
import type { Outcome } from '../core/execution/idempotent-call-store.ts';
import { narrowOutcome } from '../core/execution/narrow.ts';
import { isOutcome } from '../core/execution/once.ts';
import type { ResolvedCall } from '../core/execution/resolve.ts';
import { describeError } from '../core/http/response.ts';
import { ApiError } from '../core/runtime/api-error.ts';
import { readEnvironment } from '../core/runtime/environment.ts';
import { newReceiptItem, toEntry } from './entries.ts';
import { readReceiptEnvironment } from './environment.ts';
import { openEvidenceKey } from './evidence-keys.ts';
import { openReceiptSigner, type ReceiptSigner } from './signer.ts';

const receiptName = 'Execution-Receipt';
const saltsName = 'Execution-Receipt-Salts';

const digestSalted = (salt: Buffer, text: string): string => createHash('sha256').update(salt).update(text).digest('base64url');

export interface EvidenceParts {
  signer: ReceiptSigner;
  /** whether calls without an idempotency key get receipts, too */
  coversAll: boolean;
  /** prefix of error references */
  protocol: string;
  /** milliseconds since the epoch */
  now: () => number;
}

/**
 * Issues a receipt for each call that the upstream may have acted on, if the setting covers the call.
 */
export function openEvidence({ signer, coversAll, protocol, now }: EvidenceParts): Around {
  return async (execution, call, attempt) => {
    if (!call.keyed && !coversAll) return attempt();
    await signer.prepare();
    const attempted = await attempt();
    const { mayHaveActed, result } = attempted;
    if (!mayHaveActed || !isOutcome(result)) return attempted;
    const { headers, claims } = describe(execution, call, result);
    const receipt = signer.sign(claims);
    const headersAdded = { ...attempted.added?.headers, [receiptName]: receipt, ...headers };
    const writes = [{ put: newReceiptItem(toEntry(claims.execution_id, receipt)) }, ...(attempted.added?.writes ?? [])];
    return { ...attempted, added: { headers: headersAdded, writes } };
  };

  function describe({ request, caller, holder, logLine }: Execution, call: ResolvedCall, result: Outcome) {
    const salts = [randomBytes(16), randomBytes(16)] as const;
    const claims = {
      iss: request.baseUrl,
      execution_id: logLine.executionId,
      time: new Date(now()).toISOString(),
      agent_thumbprint: holder.principal,
      policy_digest: caller.policy.digest,
      intent_digest: digestIntent(call.intent),
      parameters_digest: digestSalted(salts[0], canonicalText(call.input.parameters)),
      answer_digest: digestSalted(salts[1], answerText(request, call, result)),
      outcome: result instanceof ApiError ? result.code : 'OK',
    };
    return { claims, headers: { [saltsName]: salts.map((salt) => salt.toString('base64url')).join('.') } };
  }

  /** The body of the answer that the agent will get. */
  function answerText({ requestId, baseUrl }: ExecutionHttp, call: ResolvedCall, result: Outcome): string {
    const narrowed = narrowOutcome(call, result);
    const { body } = narrowed instanceof ApiError ? describeError(narrowed, { protocol, requestId, baseUrl }) : narrowed;
    return JSON.stringify(body);
  }
}

export function receiptsFromEnvironment(): Around {
  const { receipts } = readReceiptEnvironment([], ['receipts']);
  if (!receipts) return (_execution, _call, attempt) => attempt();
  const { receiptKey } = readReceiptEnvironment(['receiptKey']);
  const { protocol } = readEnvironment(['protocol']);
  const signer = openReceiptSigner(openEvidenceKey(openKms(), receiptKey), Date.now);
  return openEvidence({ signer, coversAll: receipts === 'all', protocol, now: Date.now });
}
