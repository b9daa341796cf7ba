import { openUsedJtis } from '../../functions/core/activity/used-jti.ts';
import { nest } from '../../functions/core/execution/around.ts';
import { openDeferredCalls } from '../../functions/core/execution/deferred-call-store.ts';
import { openIdempotentCalls } from '../../functions/core/execution/idempotent-call-store.ts';
import { firstOf } from '../../functions/core/execution/instead.ts';
import { openSlowCalls } from '../../functions/core/execution/slow-calls.ts';
import type { Action } from '../../functions/core/http/serve.ts';
import { openRateLimiter } from '../../functions/core/limit/rate-limiter.ts';
import { openAuthenticator } from '../../functions/core/pat/authenticate.ts';
import { type IssueCheck, openAgentBinder } from '../../functions/core/pat/bind-agent.ts';
import { openPolicyArchive, openPolicyRefusals } from '../../functions/core/pat/policy-refusals.ts';
import { openProofs } from '../../functions/core/pat/proof.ts';
import { openPatVerifier } from '../../functions/core/pat/verify.ts';
import type { FindPolicy } from '../../functions/core/policy/policy.ts';
import type { PolicyTemplate } from '../../functions/core/policy/template.ts';
import { openLiveIntents } from '../../functions/core/registry/live-intents.ts';
import { openRedactor } from '../../functions/core/relay/redact.ts';
import type { Table } from '../../functions/core/table/table.ts';
import { createAction as createExecuteIntent } from '../../functions/execute-intent.ts';
import { createAction as createIssuePat, type Deps as IssueDeps } from '../../functions/issue-pat.ts';
import { openPolicy } from './policy.ts';

type Keys = IssueDeps['signingKeys'];
export type ExecuteDeps = Parameters<typeof createExecuteIntent>[0];

/** What verifies PATs of a policy. */
export const openAuthenticate = (table: Table, signingKeys: Keys, policy: PolicyTemplate | FindPolicy) =>
  openAuthenticator({
    verifyPat: openPatVerifier({ findKey: signingKeys.find }),
    proofs: openProofs(openUsedJtis(table), false),
    findPolicy: typeof policy === 'function' ? policy : openPolicy(policy),
    refusals: openPolicyRefusals(openPolicyArchive(table)),
  });

/** A new instance of `execute-intent`. By default, deferred calls start nothing. */
export const openExecuteOver = (
  table: Table,
  {
    now = Date.now,
    around = nest(),
    instead = firstOf(),
    start = async () => {},
    ...given
  }: Pick<ExecuteDeps, 'authenticate' | 'relay'> &
    Partial<Pick<ExecuteDeps, 'around' | 'relatedKeysOf' | 'instead' | 'observers' | 'hidesIntents' | 'start' | 'now'>>,
): Action =>
  createExecuteIntent({
    intents: openLiveIntents(table, given.hidesIntents),
    calls: openIdempotentCalls(table),
    limits: openRateLimiter(table, now),
    slowCalls: openSlowCalls(table, 'execute-intent', 10),
    deferred: openDeferredCalls(table),
    start,
    now,
    around,
    instead,
    ...given,
  });

/** A new instance of `issue-pat`. */
export function openIssueOver(
  table: Table,
  given: Pick<IssueDeps, 'signingKeys'> &
    Partial<Pick<IssueDeps, 'findPolicy' | 'proofs' | 'verifyDomain'>> & {
      template: PolicyTemplate;
      settings?: Partial<IssueDeps['settings']>;
      checks?: readonly IssueCheck[];
    },
): Action {
  const { template, settings, checks, ...parts } = given;
  const [archive, usedJtis] = [openPolicyArchive(table), openUsedJtis(table)];
  return createIssuePat({
    findPolicy: openPolicy(template),
    agents: openAgentBinder(table, checks),
    verifyDomain: undefined,
    archive,
    refusals: openPolicyRefusals(archive),
    usedJtis,
    proofs: openProofs(usedJtis, false),
    limits: openRateLimiter(table),
    settings: {
      protocol: 'proto',
      patLifeSeconds: 3_600,
      issueLimitPerHour: 60,
      isFreshRequired: false,
      isSharingAllowed: false,
      ...settings,
    },
    ...parts,
  });
}

/** What an upstream at this address answers. */
export const answerFrom = (url: string, body = '{"name":"France"}') => ({
  status: 200,
  url,
  body: Buffer.from(body),
  redactor: openRedactor(undefined),
  headers: {},
  durationMs: 1,
});
