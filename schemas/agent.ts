import * as z from 'zod';
import { listQuery } from './pagination.ts';
import { characters, name } from './text.ts';

/** What tells the keys of a shared id apart: the thumbprint. */
const sharedSuffix = /~[\w-]{43}$/;

/** An agent_id as admins write it: what was taken before invisible characters were refused can still be named. */
export const agentIdInPath = z
  .string()
  .min(1)
  .refine((text) => characters(text.replace(sharedSuffix, '')) <= 256)
  .transform((text) => text.normalize('NFC'));

/** What the ids begin with that the gate itself gives to the agents of signed-in people. */
export const signedInPrefix = 'signed-in:';

/** How an agent calls itself. Folded as ids are compared, whatever it writes. */
export const agentId = name(256).refine(
  (text) => !text.trim().toUpperCase().toLowerCase().startsWith(signedInPrefix),
  `must not begin with ${signedInPrefix}, as the ids of signed-in people do`,
);

/** `pending`: waits for approval */
export const agentState = z.enum(['active', 'pending', 'blocked'], 'must be active, pending or blocked');

export type AgentState = z.infer<typeof agentState>;

const block = z.strictObject({ reason: z.string(), blocked_at: z.iso.datetime() });

/** What admins read of an agent. */
export const agent = z
  .strictObject({
    agent_id: z.string(),
    state: agentState,
    /** RFC 7638 thumbprint of the key that the agent_id is bound to; none if nobody has presented it */
    key_thumbprint: z.string().optional(),
    first_seen: z.iso.datetime().optional(),
    /** none before the first PAT */
    last_issue: z.iso.datetime().optional(),
    revoked_at: z.iso.datetime().optional(),
    /** PATs are issued to it with a proof of possession only */
    proof_required: z.literal(true).optional(),
    block: block.optional(),
  })
  .meta({ id: 'Agent', description: 'An agent_id, the key that it is bound to, and whether it is blocked.' });

export type Agent = z.infer<typeof agent>;

const amount = z.union([z.int(), z.string()]);

const usage = z.strictObject({
  limit: z.string().describe('its name in RateLimit-Policy'),
  rule: z.string().optional().describe('JSON pointer to what states it in the policy'),
  of: amount.describe('calls; or money, as a decimal'),
  used: amount.describe('of the last `period` seconds'),
  left: amount,
  period: z.int().optional().describe('in seconds; without it, calls are counted for as long as the policy states the limit'),
  unit: z.string().optional().describe('ISO 4217 code of the currency, if it is a budget'),
});

export type Usage = z.infer<typeof usage>;

/** What the read of one agent shows. */
export const agentWithUsage = agent
  .extend({ usage: z.array(usage).describe('how much of each limit of the policy in force the key has used') })
  .meta({ id: 'AgentWithUsage', description: 'An agent, and how much of its limits and budgets is used.' });

export type AgentWithUsage = z.infer<typeof agentWithUsage>;

export const agentPage = z.strictObject({ agents: z.array(agent) }).meta({ id: 'AgentPage' });

export const agentQuery = listQuery.pick({ page_size: true }).extend({
  state: agentState
    .default('active')
    .describe('which agents: those that PATs may be issued to, those that wait for approval, or those that are blocked'),
  page: z
    .literal('1', 'must be left out: the Link header (rel="next") leads to the next page')
    .optional()
    .describe('only the first: `Link` leads to the next one'),
  after: z.string().max(1_000).optional().describe('the agent_id that the page follows, as the next link gives it'),
});

/** The body that blocks an agent. */
export const blockInput = z
  .strictObject({ reason: name(1_000).describe('for admins; the agent is not told') })
  .meta({ id: 'BlockInput', description: 'Why an agent is blocked.' });

/** The body that approves an agent. */
export const approvalInput = z
  .strictObject({ key_thumbprint: z.string().max(100).optional().describe('refuses the approval if another key waits under the agent_id') })
  .meta({ id: 'ApprovalInput', description: 'Which key is approved.' });

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
  ...(record.blocked_at !== undefined && { block: { reason: record.block_reason ?? '', blocked_at: toDateTime(record.blocked_at) } }),
});
