import type { ApprovalContent } from '../../schemas/approvals/approvals.ts';
import { canonicalDigest } from '../../schemas/canonical.ts';
import { digestIntent } from '../../schemas/intent-digest.ts';
import type { DeferredContent, HeldContent } from '../core/execution/deferred-call-store.ts';
import type { Execution } from '../core/execution/execution.ts';
import type { Instead } from '../core/execution/instead.ts';
import type { ResolvedCall } from '../core/execution/resolve.ts';
import { subjectOf } from '../core/pat/holder.ts';
import { describeRule } from '../core/policy/describe.ts';
import { rulesRequiringApproval } from '../core/policy/judge.ts';
import type { Rule } from '../core/policy/reading.ts';
import { openAnnouncements } from './announce.ts';
import { readApprovalEnvironment } from './environment.ts';

/** What is stored with a call that waits for approval. */
export interface ApprovalRequest extends HeldContent {
  /** what the approver sees besides the arguments */
  shown: Omit<ApprovalContent, 'parameters'>;
  /** arguments that are sent although the body has others or none, such as defaults */
  changed: Record<string, unknown>;
  /** names of arguments that are not sent although the body has them, as null */
  omitted: string[];
}

/** How the arguments that are sent differ from those of the body. Keeping them whole would double the size of the record. */
function compareArguments({ input, values }: ResolvedCall): Pick<ApprovalRequest, 'changed' | 'omitted'> {
  const given = input.parameters;
  const isGiven = ([name, value]: [string, unknown]) => Object.hasOwn(given, name) && JSON.stringify(given[name]) === JSON.stringify(value);
  return {
    changed: Object.fromEntries(Object.entries(values).filter((one) => !isGiven(one))),
    omitted: Object.keys(given).filter((name) => !Object.hasOwn(values, name)),
  };
}

/** What an approver is shown of a call: exactly what is sent. */
export function shownOf({ body, ...content }: Pick<DeferredContent, 'body' | 'shown'>): ApprovalContent | undefined {
  if (!content.shown) return undefined;
  const { shown, changed, omitted } = content as ApprovalRequest;
  const sent = Object.entries({ ...body.parameters, ...changed }).filter(([name]) => !omitted.includes(name));
  return { ...shown, parameters: Object.fromEntries(sent) };
}

/** The digest of an approval request, which a decision has to name. */
export const digestOfApproval = (shown: ApprovalContent): string => `sha-256=${canonicalDigest(shown)}`;

export interface ApprovalRequestParts {
  announce: (shown: ApprovalContent, digest: string, baseUrl: string) => Promise<void>;
  approvalSeconds: number;
}

/** Holds each call that a person must approve. */
export const openApprovalRequests =
  ({ announce, approvalSeconds }: ApprovalRequestParts): Instead =>
  (execution, call, defer) => {
    const rules = rulesRequiringApproval(call.rules);
    if (rules.length === 0) return undefined;
    const untilMs = execution.nowMs + approvalSeconds * 1_000;
    const content: ApprovalRequest = { shown: describe(execution, call, rules, untilMs), ...compareArguments(call) };
    return defer({
      untilMs,
      content,
      announce: async (stored) => {
        const shown = shownOf(stored);
        if (shown) await announce(shown, digestOfApproval(shown), call.baseUrl);
      },
    });
  };

export const approvalRequestsFromEnvironment = (): Instead => {
  const { approvalSeconds } = readApprovalEnvironment(['approvalSeconds']);
  return openApprovalRequests({ announce: openAnnouncements(), approvalSeconds: Number(approvalSeconds) });
};

function describe(
  { caller, nowMs, logLine }: Execution,
  { intent, service, rules }: ResolvedCall,
  approvalRules: readonly Rule[],
  untilMs: number,
): ApprovalRequest['shown'] {
  const { claims, policy } = caller;
  return {
    id: logLine.executionId,
    agent_id: claims.sub,
    ...('cnf' in claims && { key_thumbprint: claims.cnf.jkt }),
    ...(service.credential?.oauth?.grant === 'person' && !('cnf' in claims) && { calls_as: subjectOf(claims.sub) }),
    intent_uid: intent.intent_uid,
    intent_name: intent.intent_name,
    intent_digest: digestIntent(intent),
    service_name: service.service_name,
    ...(service.headers && { headers: service.headers }),
    rules: approvalRules.map(describeRule),
    prices: rules
      .flatMap(({ payments }) => payments.filter(({ every, budget }) => budget || every === undefined))
      .map(({ amount, currency }) => ({ amount, currency })),
    policy_digest: policy.digest,
    since: new Date(nowMs).toISOString(),
    expires_at: new Date(untilMs).toISOString(),
  };
}
