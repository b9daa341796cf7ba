import * as z from 'zod';
import { noAgentId, sharedSuffix } from '../agent.ts';
import { firstPage, listQuery } from '../pagination.ts';
import { characters, name } from '../text.ts';

/** Whether a text can be the agent_id of a record: one that an agent presents, or one that the gate made of it and a key. */
export const isAgentId = (text: string): boolean => text !== '' && characters(text.replace(sharedSuffix, '')) <= 256;

const keyThumbprint = z.string().max(100);

export const agentKeyQuery = z.object({
  key_thumbprint: keyThumbprint
    .optional()
    .describe(
      `the RFC 7638 thumbprint of the agent's key; identifies the agent if the path has ${noAgentId} in place of the agent_id, else it must be a key of that agent_id`,
    ),
});

export const agentState = z.enum(['active', 'pending', 'blocked'], 'must be active, pending or blocked');

export type AgentState = z.infer<typeof agentState>;

const block = z.strictObject({ reason: z.string(), blocked_at: z.iso.datetime() });

export const agent = z
  .strictObject({
    agent_id: z.string(),
    state: agentState,
    /** RFC 7638 thumbprint of the bound key; absent if the id is unbound */
    key_thumbprint: z.string().optional(),
    first_seen: z.iso.datetime().optional(),
    /** absent before the first PAT */
    last_issue: z.iso.datetime().optional(),
    revoked_at: z.iso.datetime().optional(),
    /** every PAT requires a proof of possession */
    proof_required: z.literal(true).optional(),
    agent_domain: z.string().optional().describe('the domain whose directory listed the key at the last PAT or request for one'),
    block: block.optional(),
  })
  .meta({ id: 'Agent', description: 'An agent_id, the key that it is bound to, and whether it is blocked.' });

export type Agent = z.infer<typeof agent>;

const amount = z.union([z.int(), z.string()]);

const usage = z.strictObject({
  limit: z.string().describe('its name in RateLimit-Policy'),
  rule: z.string().optional().describe('JSON pointer to the rule in the policy'),
  of: amount.describe('the limit, in calls or, for a budget, in money (decimal)'),
  used: amount.describe('used in the last `period` seconds'),
  left: amount,
  period: z.int().optional().describe('in seconds; absent for a limit on the total'),
  unit: z.string().optional().describe('ISO 4217 currency code of a budget'),
});

export type Usage = z.infer<typeof usage>;

export const agentWithUsage = agent
  .extend({ usage: z.array(usage).describe('how much of each limit of the policy in force the key has used') })
  .meta({ id: 'AgentWithUsage', description: 'An agent, and the use of its limits and budgets.' });

export type AgentWithUsage = z.infer<typeof agentWithUsage>;

export const agentPage = z
  .strictObject({
    agents: z.array(agent),
    displaced: z
      .int()
      .optional()
      .describe('for pending agents: number of requests displaced by later ones since the queue was last cleared'),
  })
  .meta({ id: 'AgentPage' });

export type AgentPage = z.infer<typeof agentPage>;

export const agentQuery = listQuery.pick({ page_size: true }).extend({
  state: agentState
    .default('active')
    .describe('active: agents that may get PATs; pending: agents that wait for approval; blocked: blocked agents'),
  page: firstPage,
  after: z.string().max(1_000).optional().describe('the last agent_id of the previous page, as in the next link'),
});

export const clearQuery = z.object({ state: z.literal('pending', 'must be pending').describe('only those that wait for approval') });

/** The address of an agent that is named by its id, its key or both. */
export const agentAddress = (agentId = noAgentId, keyThumbprint?: string): { path: string; query: Record<string, string> } => ({
  path: `/api/agents/${encodeURIComponent(agentId)}`,
  query: keyThumbprint === undefined ? {} : { key_thumbprint: keyThumbprint },
});

export const blockInput = z
  .strictObject({ reason: name(1_000).describe('shown to admins, not to the agent') })
  .meta({ id: 'BlockInput', description: 'Why an agent is blocked.' });

export const approvalInput = z
  .strictObject({
    key_thumbprint: keyThumbprint.optional().describe('the key; required if several wait under the agent_id, or before its first request'),
  })
  .meta({ id: 'ApprovalInput', description: 'Which key is approved.' });

const domain = z
  .string()
  .max(260)
  .regex(/^([a-z0-9-]+\.)+[a-z0-9-]+(:[0-9]{1,5})?$/, 'must be a domain in lower case, such as bot.example');

/** The path parameter of a domain. */
export const agentDomain = z.object({ domain });

export const approvedDomain = z
  .strictObject({ domain: z.string(), approved_at: z.iso.datetime() })
  .meta({ id: 'AgentDomain', description: 'A domain whose verified agents need no approval.' });

export const agentDomainList = z.strictObject({ domains: z.array(approvedDomain) }).meta({ id: 'AgentDomainList' });

export const toAgentDomain = ({ domain, approved_at }: { domain: string; approved_at: number }): z.infer<typeof approvedDomain> => ({
  domain,
  approved_at: toDateTime(approved_at),
});

const toDateTime = (timeMs: number): string => new Date(timeMs).toISOString();

/** @param record - times in milliseconds since the epoch */
export const toAgent = (
  record: {
    agent_id: string;
    thumbprint?: string;
    first_seen?: number;
    last_issue?: number;
    revoked_at?: number;
    proof?: true;
    domain?: string;
    blocked_at?: number;
    block_reason?: string;
  },
  state: AgentState,
): Agent => ({
  agent_id: record.agent_id,
  state,
  ...(record.thumbprint !== undefined && { key_thumbprint: record.thumbprint }),
  ...(record.first_seen !== undefined && { first_seen: toDateTime(record.first_seen) }),
  ...(record.last_issue !== undefined && { last_issue: toDateTime(record.last_issue) }),
  ...(record.revoked_at !== undefined && { revoked_at: toDateTime(record.revoked_at) }),
  ...(record.proof && { proof_required: true }),
  ...(record.domain !== undefined && { agent_domain: record.domain }),
  ...(record.blocked_at !== undefined && { block: { reason: record.block_reason ?? '', blocked_at: toDateTime(record.blocked_at) } }),
});
