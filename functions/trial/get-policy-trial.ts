import { policyTrialQuery } from '../../schemas/trial/policy-trial.ts';
import { type History, openHistory } from '../core/activity/history.ts';
import { type AdminAction, forFullAdmins, serveAdmin } from '../core/admin/for-admins.ts';
import { ok } from '../core/http/response.ts';
import { listRules } from '../core/policy/name-rules.ts';
import type { FindPolicy } from '../core/policy/policy.ts';
import { policyFromEnvironment } from '../core/registry/policy-in-force.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { noTrial } from './refusals.ts';
import { replay } from './replay.ts';
import { type FindTrial, openTrials } from './trial-verdict.ts';

export interface Deps {
  history: Pick<History, 'readBack'>;
  findPolicy: FindPolicy;
  findTrial: FindTrial;
  /** milliseconds since the epoch */
  now?: () => number;
}

const periodMs = { hour: 3_600_000, day: 86_400_000, week: 604_800_000 };

/** Maximum executions replayed, and maximum rows per list: a response takes a few seconds and is smaller than 1 MB. */
const [maxExecutions, maxRows] = [100_000, 500];

/**
 * `GET /api/policy/try`: what the policy on trial would have done to the calls that it was tried on. Conditions were judged
 * when the calls were made; limits are counted here, so that no call has to wait for them.
 */
export const createAction = ({ history, findPolicy, findTrial, now = Date.now }: Deps): AdminAction =>
  forFullAdmins(async (_admin, request) => {
    const { period } = request.query(policyTrialQuery);
    const { rules, digest, pointer } = await findPolicy(request.baseUrl);
    const trial = await findTrial(pointer, request.baseUrl);
    if (!trial) throw noTrial();
    const untilMs = now();
    const { executions, sinceMs } = await history.readBack(untilMs - periodMs[period], untilMs, maxExecutions);
    const tried = executions.filter((one) => one.trial?.policy === trial.digest);
    const report = replay(tried, { trial, inForce: { digest, rules } }, sinceMs, untilMs);
    const { would_refuse, would_permit, would_wait } = report;
    return ok({
      ...report,
      rules: listRules(trial.rules),
      would_refuse: would_refuse.slice(0, maxRows),
      would_permit: would_permit.slice(0, maxRows),
      would_wait: would_wait.slice(0, maxRows),
    });
  });

const table = tableFromEnvironment();

export const handler = serveAdmin(
  createAction({ history: openHistory(table), findPolicy: policyFromEnvironment(table), findTrial: openTrials(table) }),
);
