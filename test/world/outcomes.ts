import { ApiError } from '../../functions/core/api-error.ts';
import type { Outcome } from './explore.ts';

export const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
export const valuesOf = (outcomes: readonly Outcome[]): unknown[] =>
  outcomes.flatMap((outcome) => (outcome !== 'crashed' && 'value' in outcome ? [outcome.value] : []));
export const codesOf = (outcomes: readonly Outcome[]): string[] =>
  outcomes.flatMap((outcome) => (outcome !== 'crashed' && 'error' in outcome ? [codeOf(outcome.error)] : []));

/** An error that is not an answer is a fault of ours. */
export function codeOf(error: unknown): string {
  if (error instanceof ApiError) return error.code;
  throw error;
}

/** What a caller was answered; undefined if it was refused or has crashed. */
export const answerOf = (outcome: Outcome | undefined): unknown =>
  outcome !== undefined && outcome !== 'crashed' && 'value' in outcome ? outcome.value : undefined;
