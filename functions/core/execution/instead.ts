import type { ApiResponse } from '../http/response.ts';
import { rulesRequiringApproval } from '../policy/judge.ts';
import { ApiError } from '../runtime/api-error.ts';
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

/** The answer of the first feature that has one. A call that needs approval is refused if no feature asks for it. */
export const firstOf =
  (...all: readonly Instead[]): Instead =>
  (execution, call, defer) => {
    for (const instead of all) {
      const answer = instead(execution, call, defer);
      if (answer) return answer;
    }
    return rulesRequiringApproval(call.rules).length > 0 ? Promise.reject(approvalUnavailable()) : undefined;
  };

const approvalUnavailable = () =>
  new ApiError(
    'FORBIDDEN',
    "The usage policy requires a person's approval for this call, which this gate cannot obtain. Nothing was sent; ask its operators to change the policy.",
    { details: { reason: 'approval_unavailable', outcome: 'not_sent' } },
  );
