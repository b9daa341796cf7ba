import type { ApiResponse } from '../http/response.ts';
import type { DeferredContent, HeldContent } from './deferred-call-store.ts';
import type { Execution } from './execution.ts';
import type { ResolvedCall } from './resolve.ts';

/** A deferred call that waits until somebody releases it. */
export interface Hold {
  /** when it expires, in milliseconds since the epoch */
  untilMs: number;
  /** what is stored with the call, for those who decide */
  content: HeldContent;
  /** Tells them that it waits. If this fails, they find it in the list. */
  announce(content: DeferredContent): Promise<void>;
}

/**
 * What a feature does instead of an attempt.
 * @param defer - stores the call and answers 202
 * @returns undefined if the call does not concern the feature
 */
export type Instead = (
  execution: Execution,
  call: ResolvedCall,
  defer: (hold: Hold) => Promise<ApiResponse>,
) => Promise<ApiResponse> | undefined;

/** The answer of the first feature that has one. */
export const firstOf =
  (...all: readonly Instead[]): Instead =>
  (execution, call, defer) => {
    for (const instead of all) {
      const answer = instead(execution, call, defer);
      if (answer) return answer;
    }
    return undefined;
  };
