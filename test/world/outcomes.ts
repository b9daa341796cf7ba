import assert from 'node:assert/strict';
import { CallFailed } from '../../functions/core/relay/call-failure.ts';
import { ApiError } from '../../functions/core/runtime/api-error.ts';
import type { Caller, Cast, End, Failure, Outcome } from './explore.ts';

export const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

/** So many callers who do the same. */
export const alike = (count: number, act: (caller: Caller, at: number) => Promise<unknown>): Cast['callers'] =>
  times(count, (at) => (caller) => act(caller, at));

export const valuesOf = (outcomes: readonly Outcome[]): unknown[] =>
  outcomes.flatMap((outcome) => (outcome !== 'crashed' && 'value' in outcome ? [outcome.value] : []));
export const errorsOf = (outcomes: readonly Outcome[]): unknown[] =>
  outcomes.flatMap((outcome) => (outcome !== 'crashed' && 'error' in outcome ? [outcome.error] : []));
export const codesOf = (outcomes: readonly Outcome[]): string[] => errorsOf(outcomes).map(codeOf);

/** An error that is not an answer is a fault of ours. */
export function codeOf(error: unknown): string {
  if (error instanceof ApiError) return error.code;
  throw error;
}

/** Whoever was refused was refused with one of these codes. */
export function requireCodes({ outcomes }: Pick<End, 'outcomes'>, ...possible: string[]): void {
  const codes = codesOf(outcomes);
  assert.ok(
    codes.every((code) => possible.includes(code)),
    codes.join(),
  );
}

/** What a caller was answered; undefined if it was refused or has crashed. */
export const answerOf = (outcome: Outcome | undefined): unknown =>
  outcome !== undefined && outcome !== 'crashed' && 'value' in outcome ? outcome.value : undefined;

type Step = End['log'][number];
const isStepOf =
  (caller: number, label: string) =>
  (step: Step): boolean =>
    step.caller === caller && step.label.startsWith(label);

/** Where in the order of what took effect a caller's first operation of this kind stands: a transaction is named by how many items it writes. */
export const firstOf = ({ log }: End, caller: number, label: string): number => log.findIndex(isStepOf(caller, label));
export const lastOf = ({ log }: End, caller: number, label: string): number => log.findLastIndex(isStepOf(caller, label));

/** How a call of the upstream fails whose answer is lost. */
export const relayFails = (variant: Failure): Error =>
  new CallFailed(variant === 'dropped' ? 'unreachable' : variant === 'lost' ? 'broken_answer' : 'deadline');
