import { toAgent, type Usage } from '../../schemas/agents/agents.ts';
import { type AdminAction, forFullAdmins, serveAdmin } from '../core/admin/for-admins.ts';
import { ok } from '../core/http/response.ts';
import { countExecution } from '../core/limit/limit-request.ts';
import { type LimitState, openRateLimiter, type RateLimiter } from '../core/limit/rate-limiter.ts';
import { toHolder } from '../core/pat/holder.ts';
import { chargesOf } from '../core/policy/judge.ts';
import { formatMoney } from '../core/policy/money.ts';
import type { FindPolicy } from '../core/policy/policy.ts';
import { policyFromEnvironment } from '../core/registry/policy-in-force.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { requireAgent } from './agent-endpoint.ts';
import { type Agents, openAgents } from './agents.ts';
import { belongsToOtherKey, stateOf } from './records.ts';
import { noSuchAgent, requireAtMostOne } from './refusals.ts';

export interface Deps {
  agents: Pick<Agents, 'find' | 'findWaiting' | 'resolve'>;
  findPolicy: FindPolicy;
  limits: Pick<RateLimiter, 'inspect'>;
}

/**
 * `GET /api/agents/{agent_id}`: the key that an agent_id is bound to, when it was last issued a PAT, whether it is blocked, and what it has used
 * of the limits and budgets of the policy.
 */
export const createAction = ({ agents, findPolicy, limits }: Deps): AdminAction =>
  forFullAdmins(async (_admin, request) => {
    const { agentId, thumbprint: named } = await requireAgent(request, agents);
    const [known, waiting] = await Promise.all([agents.find(agentId), agents.findWaiting(agentId)]);
    const knownState = belongsToOtherKey(known, named) ? undefined : stateOf(known);
    const candidates = waiting.filter((one) => named === undefined || one.thumbprint === named);
    const [agent, state] = known && knownState ? [known, knownState] : [requireAtMostOne(candidates), 'pending' as const];
    if (!agent) throw noSuchAgent();
    const { agent_id, thumbprint, domain } = agent;
    const holder = toHolder(agent_id, thumbprint ?? '');
    const judged = { account: holder.account, agentId: agent_id, agentDomain: domain };
    const charges = chargesOf((await findPolicy(request.baseUrl)).compiledFor(judged).rules);
    const isCounted = thumbprint !== undefined && charges.length > 0;
    const { states } = isCounted ? await limits.inspect(countExecution(holder, charges)) : { states: [] };
    return ok({ ...toAgent(agent, state), usage: states.map(describeUsage) });
  });

function describeUsage({ charge: { name, rule, rate, period, currency }, used }: LimitState): Usage {
  const show = (amount: number) => (currency === undefined ? amount : formatMoney(amount, currency));
  return {
    limit: name,
    ...(rule !== undefined && { rule }),
    of: show(rate),
    used: show(used),
    left: show(Math.max(0, rate - used)),
    ...(Number.isFinite(period) && { period }),
    ...(currency !== undefined && { unit: currency }),
  };
}

const table = tableFromEnvironment();

export const handler = serveAdmin(
  createAction({
    agents: openAgents(table),
    findPolicy: policyFromEnvironment(table),
    limits: openRateLimiter(table),
  }),
);
