import { openUsedJtis } from '../../../functions/core/activity/used-jti.ts';
import { openRateLimiter } from '../../../functions/core/limit/rate-limiter.ts';
import { type IssueCheck, openAgentBinder } from '../../../functions/core/pat/bind-agent.ts';
import { openPolicyArchive } from '../../../functions/core/pat/policy-refusals.ts';
import { createAction } from '../../../functions/sign-in/issue-token.ts';
import { openRefreshTokens } from '../../../functions/sign-in/refresh-tokens.ts';
import { openSignIns } from '../../../functions/sign-in/sign-ins.ts';
import type { Gate } from '../gate.ts';
import { loadPolicyTemplate, openPolicy } from '../policy.ts';

interface Options {
  template?: ReturnType<typeof loadPolicyTemplate>;
  checks?: readonly IssueCheck[];
  signingKeys?: Gate['signingKeys'];
}

/** A new instance of the endpoint that exchanges codes, over the table of a gate. */
export function openToken(gate: Gate, { template = loadPolicyTemplate(), checks = [], signingKeys = gate.signingKeys }: Options = {}) {
  const { table } = gate.database;
  return createAction({
    findPolicy: openPolicy(template),
    agents: openAgentBinder(table, checks),
    archive: openPolicyArchive(table),
    signIns: openSignIns(table),
    refreshTokens: openRefreshTokens(table),
    usedJtis: openUsedJtis(table),
    limits: openRateLimiter(table),
    signingKeys,
    settings: { patLifeSeconds: 3_600, signInSeconds: 43_200, issueLimitPerHour: 60 },
  });
}
