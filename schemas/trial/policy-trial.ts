import * as z from 'zod';

const trialRow = z.strictObject({
  rule: z.string().describe('JSON pointer into the policy; empty if no permission covers the intent'),
  words: z.string().describe('the rule in words'),
  agent_id: z.string(),
  intent_uid: z.string(),
  calls: z.int().min(1),
  first: z.iso.datetime(),
  last: z.iso.datetime(),
});

export type TrialRow = z.infer<typeof trialRow>;

const most = 'those with the most calls first';

/** What a policy would have done to recorded calls. */
export const policyTrial = z
  .strictObject({
    since: z.iso.datetime(),
    until: z.iso.datetime(),
    calls: z.int().min(0).describe('executions and refusals that were compared'),
    would_refuse: z.array(trialRow).describe(`calls that were permitted and would have been refused; ${most}`),
    would_permit: z.array(trialRow).describe(`calls that the policy in force refused and that would have been permitted; ${most}`),
    would_wait: z.array(trialRow).describe(`calls that would have waited for a person's approval; ${most}`),
    unknown: z
      .array(
        trialRow.pick({ rule: true, words: true, calls: true }).extend({
          because: z.string().describe('the reason'),
          intents: z.int().min(1).describe('number of intents concerned'),
          intent_uids: z.array(z.string()).describe('the first 10 of them'),
        }),
      )
      .describe('calls that could not be decided, because data were not recorded, by rule and reason'),
    gaps: z
      .array(z.strictObject({ from: z.iso.datetime(), to: z.iso.datetime() }))
      .describe('hours without records: there were no calls, or their records are missing'),
  })
  .meta({ id: 'PolicyTrial', description: 'What another policy would have decided about the calls of a period.' });

export type PolicyTrial = z.infer<typeof policyTrial>;

/** The response of `GET /api/policy/try`. */
export const namedPolicyTrial = policyTrial
  .extend({
    rules: z
      .array(z.strictObject({ rule: z.string().describe('JSON pointer'), words: z.string() }))
      .describe('the rules of the policy on trial, in words'),
  })
  .meta({ id: 'NamedPolicyTrial', description: 'The policy on trial, and what it would have decided about the calls of a period.' });

export type NamedPolicyTrial = z.infer<typeof namedPolicyTrial>;

const trialPeriods = ['hour', 'day', 'week'] as const;

/** What `PUT /api/policy/try` answers. */
export const policyOnTrial = z
  .strictObject({
    version: z.string().describe('digest of its text in which `{base_url}` stands for the address'),
    seq: z.int().min(0).describe('number of the entry in the log of changes'),
  })
  .meta({ id: 'PolicyOnTrial', description: 'A policy on trial.' });

export const policyTrialQuery = z.object({
  period: z.enum(trialPeriods, 'must be hour, day or week').default('day').describe('how far back: the last hour, 24 hours or 7 days'),
});
