import { PolicyDeclined, Refusal } from '../../client/errors.ts';
import type { ReceiptFile } from '../../client/receipts.ts';
import { type NewCall, type Ran, runIntent } from './agent.ts';
import { saidIn } from './components/states.tsx';
import { showToast } from './components/toast.tsx';
import { describeFailure, Unanswered } from './gate.ts';
import { keep, openStore, readKept } from './store.ts';

/** A call that was made in this tab. */
export interface Call extends NewCall {
  durationMs: number;
  /** absent if the call was refused, or the answer is too large to keep */
  answer?: unknown;
  refusal?: string;
  /** no answer has arrived, so that it may have been made; the same call gets it under the same key */
  isUnanswered?: boolean;
  executionId?: string | undefined;
  receipt?: ReceiptFile | undefined;
}

const maxKept = 50;
/** Maximum length of kept answers, in characters of JSON. */
const maxAnswerLength = 20_000;

export const calls = openStore<Call[]>(readKept('calls', []));

function rememberCall(call: Call): void {
  const { answer, receipt, ...rest } = call;
  const isKept = answer !== undefined && JSON.stringify(answer).length <= maxAnswerLength;
  // keep the receipt, most of which can be verified without the answer
  const kept = isKept ? call : { ...rest, receipt: receipt && { ...receipt, answer: undefined } };
  const others = calls.get().filter(({ key }) => key !== call.key);
  calls.set([kept, ...others].toSorted((a, b) => b.at - a.at).slice(0, maxKept));
  keep('calls', calls.get());
}

export function forgetCalls(): void {
  calls.set([]);
  keep('calls', undefined);
}

/** How long the gate keeps an idempotency key, in milliseconds. */
const keyLifeMs = 86_400_000;

/** An equal call that has not been answered, and whose answer the gate still keeps, if it was made. */
export const findUnanswered = (intentUid: string, parameters: NewCall['parameters']): Call | undefined =>
  calls
    .get()
    .find(
      (call) =>
        call.isUnanswered &&
        call.at > Date.now() - keyLifeMs &&
        call.intentUid === intentUid &&
        JSON.stringify(call.parameters) === JSON.stringify(parameters),
    );

/** Whether a failure says nothing about an earlier attempt under the same key. */
const isOfAttempt = (error: unknown): boolean =>
  !(error instanceof Refusal) ||
  error.details.reason === 'running' ||
  ([401, 403, 429, 503].includes(error.status) && !['denied', 'expired'].includes(String(error.details.reason)));

const following = new Map<number, Promise<Ran>>();

/**
 * Makes a call, or follows one that is being made, and keeps its state and outcome in the list of calls.
 * @throws IntentGateError
 */
export function followCall(call: NewCall): Promise<Ran> {
  const running = following.get(call.at) ?? makeCall(call).finally(() => following.delete(call.at));
  following.set(call.at, running);
  return running;
}

async function makeCall({ at, intentUid, parameters, key, pending }: NewCall): Promise<Ran> {
  let hasWaited = pending !== undefined;
  const remember = (more: Partial<Call>) => rememberCall({ at, intentUid, parameters, key, durationMs: Date.now() - at, ...more });
  try {
    const ran = await runIntent({ at, intentUid, parameters, key, pending }, (state) => {
      hasWaited = true;
      remember({ pending: state });
    });
    remember({ answer: ran.answer, executionId: ran.facts.executionId, receipt: ran.receipt });
    if (hasWaited) showToast(`${intentUid} has been answered: see Your calls.`);
    return ran;
  } catch (error) {
    const said = error instanceof Refusal ? saidIn(error.details) : undefined;
    const isUnanswered = error instanceof Unanswered;
    if (calls.get().some((call) => call.key === key && call.isUnanswered) && isOfAttempt(error)) throw error;
    // a waiting call can be followed again if anything else keeps the page from reading its outcome
    if (error instanceof Refusal || !(hasWaited || error instanceof PolicyDeclined))
      remember({ isUnanswered, refusal: describeFailure(error) + (said === undefined ? '' : ` The service says: ${said}`) });
    throw error;
  }
}
