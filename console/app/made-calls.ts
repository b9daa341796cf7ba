import type { ReceiptFile } from '../../client/receipts.ts';
import { keep, openStore, readKept } from './store.ts';

/** A call that was made in this tab. */
export interface Call {
  at: number;
  intentUid: string;
  parameters: Record<string, unknown>;
  durationMs: number;
  /** absent if the call was refused, or the answer is too large to keep */
  answer?: unknown;
  refusal?: string;
  executionId?: string | undefined;
  receipt?: ReceiptFile | undefined;
}

const maxKept = 50;
/** Maximum length of kept answers, in characters of JSON. */
const maxAnswerLength = 20_000;

export const calls = openStore<Call[]>(readKept('calls', []));

export function rememberCall(call: Call): void {
  const { answer, receipt, ...rest } = call;
  const isKept = answer !== undefined && JSON.stringify(answer).length <= maxAnswerLength;
  // keep the receipt, most of which can be verified without the answer
  const kept = isKept ? call : { ...rest, receipt: receipt && { ...receipt, answer: undefined } };
  calls.set([kept, ...calls.get()].slice(0, maxKept));
  keep('calls', calls.get());
}

export function forgetCalls(): void {
  calls.set([]);
  keep('calls', undefined);
}
