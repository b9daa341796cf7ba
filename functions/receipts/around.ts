import { createHash, randomBytes } from 'node:crypto';
import { canonicalText } from '../../schemas/canonical.ts';
import { digestIntent } from '../../schemas/intent-digest.ts';
import { openKms } from '../core/aws/kms.ts';
import type { Execution, ExecutionRequest } from '../core/execution/execution.ts';
import { narrowOutcome } from '../core/execution/narrow.ts';
import { type Attempted, isOutcome, withReceipt } from '../core/execution/once.ts';
import type { Outcome } from '../core/execution/outcome.ts';
import type { ResolvedCall } from '../core/execution/resolve.ts';
import { describeError } from '../core/http/response.ts';
import type { JsonValue } from '../core/json/json.ts';
import { ApiError } from '../core/runtime/api-error.ts';
import { readEnvironment } from '../core/runtime/environment.ts';
import { describeCause, log } from '../core/runtime/log.ts';
import type { Table } from '../core/table/table.ts';
import { newReceiptItem, toEntry } from './entries.ts';
import { openEvidenceKey } from './evidence-keys.ts';
import { openReceiptSigner, type ReceiptSigner } from './signer.ts';

/** Makes a call and issues a receipt for it, if the upstream may have acted and the setting covers the call. */
export type Evidence = (execution: Execution, call: ResolvedCall, body: JsonValue, attempt: () => Promise<Attempted>) => Promise<Attempted>;

const receiptName = 'Execution-Receipt';
const saltsName = 'Execution-Receipt-Salts';

const digestSalted = (salt: Buffer, text: string): string => createHash('sha256').update(salt).update(text).digest('base64url');

export interface EvidenceParts {
  signer: ReceiptSigner;
  table: Pick<Table, 'put'>;
  /** whether calls without an idempotency key get receipts, too */
  coversAll: boolean;
  /** prefix of error references */
  protocol: string;
  /** milliseconds since the epoch */
  now: () => number;
}

export const noEvidence: Evidence = (_execution, _call, _body, attempt) => attempt();

/** Stores the receipt of a call under an idempotency key with its outcome; any other receipt takes one extra write. */
export function openEvidence({ signer, table, coversAll, protocol, now }: EvidenceParts): Evidence {
  return async (execution, call, body, attempt) => {
    if (!call.keyed && !coversAll) return attempt();
    await signer.prepare();
    const attempted = await attempt();
    const { mayHaveActed, result } = attempted;
    if (!mayHaveActed || !isOutcome(result)) return attempted;
    const { headers, claims } = describe(execution, call, body, result);
    const receipt = signer.sign(claims);
    const receipted = {
      ...attempted,
      receipt: { headers: { [receiptName]: receipt, ...headers }, entry: toEntry(claims.execution_id, receipt) },
    };
    return call.keyed ? receipted : keepAlone(receipted);
  };

  function describe({ request, caller, holder, logLine }: Execution, call: ResolvedCall, body: JsonValue, result: Outcome) {
    const salts = [randomBytes(16), randomBytes(16)] as const;
    const claims = {
      iss: request.baseUrl,
      execution_id: logLine.executionId,
      time: new Date(now()).toISOString(),
      agent_thumbprint: holder.principal,
      policy_digest: caller.policy.digest,
      intent_digest: digestIntent(call.intent),
      parameters_digest: digestSalted(salts[0], canonicalText((body as { parameters: unknown }).parameters)),
      answer_digest: digestSalted(salts[1], answerText(request, call, result)),
      outcome: result instanceof ApiError ? result.code : 'OK',
    };
    return { claims, headers: { [saltsName]: salts.map((salt) => salt.toString('base64url')).join('.') } };
  }

  /** The body of the answer that the agent will get. */
  function answerText({ requestId, baseUrl }: ExecutionRequest, call: ResolvedCall, result: Outcome): string {
    const narrowed = narrowOutcome(call, result);
    const { body } = narrowed instanceof ApiError ? describeError(narrowed, { protocol, requestId, baseUrl }) : narrowed;
    return JSON.stringify(body);
  }

  async function keepAlone(attempted: Attempted & { receipt: NonNullable<Attempted['receipt']> }): Promise<Attempted> {
    const { mayHaveActed, result, receipt } = attempted;
    try {
      await table.put(newReceiptItem(receipt.entry));
      return { mayHaveActed, result: withReceipt(attempted) };
    } catch (error) {
      log.warn('receipt not kept', { cause: describeCause(error) });
      return { mayHaveActed, result };
    }
  }
}

export function evidenceFromEnvironment(table: Pick<Table, 'put'>): Evidence {
  const { receipts, receiptKey, protocol } = readEnvironment(['protocol'], ['receipts', 'receiptKey']);
  if (!receipts || !receiptKey) return noEvidence;
  const signer = openReceiptSigner(openEvidenceKey(openKms(), receiptKey), Date.now);
  return openEvidence({ signer, table, coversAll: receipts === 'all', protocol, now: Date.now });
}
