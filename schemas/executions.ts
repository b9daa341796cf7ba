import * as z from 'zod';
import { type ErrorCode, errorTable } from './errors.ts';

/** The verdict of the policy on trial about a call, from the time of the call. */
export const trialVerdict = z.object({
  policy: z.string().describe('digest of the policy on trial'),
  refused: z.string().optional().describe('JSON pointer to the rule that refuses the call; empty if no permission covers its intent'),
  counts: z.array(z.string()).optional().describe('JSON pointers to the rules that limit the call or require approval'),
  invalid: z.literal(true).optional().describe('the parameters are invalid, so both policies refuse the call'),
});

/** A logged request to execute an intent: who, what, when and with which outcome. It does not contain parameters. */
export const recordedExecution = z
  .object({
    execution_id: z.ulid(),
    agent_id: z.string().min(1),
    outcome: z.enum(['OK', ...(Object.keys(errorTable) as ErrorCode[])]),
    started_at: z.iso.datetime().optional().describe('when the policy was judged'),
    holder: z.string().optional().describe("thumbprint of the agent's key, or its equivalent for a person"),
    agent_domain: z.string().optional().describe('the domain that the agent is verified for; empty if none'),
    account: z.string().optional().describe('the same for a person with one client, for which rates are counted'),
    service_id: z.string().optional(),
    intent_uid: z.string().optional().describe('absent if the request was refused before its intent was found'),
    method: z.string().optional(),
    tags: z.array(z.string()).optional(),
    policy_digest: z.string().optional().describe('of the policy in force'),
    reason: z.string().optional().describe('details.reason of a refusal'),
    rule: z.string().optional().describe('JSON pointer to the rule that refused it, in the policy in force'),
    sent: z.boolean().optional().describe('true: the call was sent; false: it was counted, but not sent; absent: neither'),
    is_replayed: z.boolean().optional().describe('answered with the response to an earlier request under its key'),
    is_deferred: z.literal(true).optional().describe('a deferred call, made after approval if the policy required it'),
    call_key: z.string().optional().describe('identifies the holder and the Idempotency-Key'),
    trial: trialVerdict.optional(),
    upstream_host: z.string().optional(),
    upstream_status: z.int().optional(),
    upstream_ms: z.number().min(0).optional(),
    drift: z.literal(true).optional(),
  })
  .meta({ id: 'RecordedExecution' });

export type RecordedExecution = z.infer<typeof recordedExecution>;
export type TrialVerdict = z.infer<typeof trialVerdict>;

/** How long executions are kept for `GET /api/executions`, in days. */
export const recordedDays = 31;

/** Maximum number of executions per page. */
export const maxExecutionsOfPage = 1_000;

const instant = z.iso.datetime('must be a date and time in UTC, such as 2026-02-28T12:00:00Z').transform(Date.parse);

/** Pagination cursor of executions: a partition and, optionally, a key in it. */
const position = /^\d{4}-\d\d-\d\dT\d\d:00#\d(#\d{4}-\d\d-\d\dT\d\d:\d\d#[0-9A-Z]{26})?$/;

export const executionsQuery = z.object({
  from: instant.describe(`executions that ended at this time or later; up to ${recordedDays} days ago`),
  to: instant.optional().describe('executions that ended before this time; default: now'),
  after: z.string().regex(position, 'must be that of a next link').optional().describe('as in the next link'),
  page_size: z
    .string()
    .regex(/^[1-9]\d{0,3}$/, `must be a whole number from 1 to ${maxExecutionsOfPage}`)
    .transform((text) => Math.min(Number(text), maxExecutionsOfPage))
    .default(maxExecutionsOfPage)
    .meta({ type: 'integer', minimum: 1, maximum: maxExecutionsOfPage }),
});

/** The response of `GET /api/executions`. */
export const executionPage = z
  .strictObject({ executions: z.array(recordedExecution).describe('in no particular order') })
  .meta({ id: 'ExecutionPage', description: 'Recorded executions and refusals.' });

export type ExecutionPage = z.infer<typeof executionPage>;
