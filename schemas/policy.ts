import * as z from 'zod';

/** The fixed `@context` of every policy. */
export const odrlContext = 'http://www.w3.org/ns/odrl.jsonld';

const uri = z
  .string()
  .refine((text) => URL.canParse(text), 'must be an absolute URI')
  .meta({ format: 'uri' });

export const constraint = z.strictObject({
  leftOperand: uri,
  operator: z.enum(['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'within', 'use']),
  rightOperand: z.json(),
  unit: uri.optional(),
});

export const duty = z.strictObject({
  action: z.string().min(1),
  target: uri.optional(),
  amount: z.union([z.number(), z.record(z.string(), z.json())]).optional(),
  unit: uri.optional(),
  timeInterval: z
    .string()
    .regex(/^P([0-9]+Y)?([0-9]+M)?([0-9]+D)?(T([0-9]+H)?([0-9]+M)?([0-9]+S)?)?$/, 'must be an ISO 8601 duration, for example PT1M')
    .optional(),
});

/** The only agents to which a rule applies; without it, the rule applies to all. */
const assignee = z
  .string()
  .min(1)
  .max(1_000)
  .optional()
  .meta({ description: 'restricts the rule to some agents: by verified domain, key thumbprint or agent_id' });

const rule = z.strictObject({ target: uri, action: z.string().min(1), assignee, constraint: z.array(constraint).optional() });

export const prohibition = rule;

export const permission = rule.extend({ duty: z.array(duty).optional() });

export const obligation = z.strictObject({
  action: z.string().min(1),
  assignee,
  target: uri.optional(),
  constraint: z.array(constraint).optional(),
});

/** The usage policy, in the manner of ODRL (specification section 2.3). */
export const policy = z
  .strictObject({
    '@context': z.literal(odrlContext),
    uid: uri,
    type: z.enum(['Set', 'Offer', 'Agreement']),
    profile: uri.optional(),
    conflict: z.literal('prohibit').optional().describe('prohibitions win, as they do without this member'),
    permission: z.array(permission).optional(),
    prohibition: z.array(prohibition).optional(),
    obligation: z.array(obligation).optional(),
  })
  .meta({ id: 'Policy', description: 'The usage policy that an agent signs.' });

/** A policy as it is written. What it may contain is more than a schema says: `functions/core/policy/spellings.ts` reads it. */
export const writtenPolicy = z
  .looseObject({
    permission: z.unknown().optional().describe('rules that say what agents may execute'),
    prohibition: z.unknown().optional().describe('rules that take from the permissions'),
    obligation: z.unknown().optional().describe('what agents must do'),
  })
  .meta({
    id: 'WrittenPolicy',
    description:
      "A usage policy in any of ODRL's spellings. `@context`, `uid` and `type` may be left out. Agents are served it as a Policy.",
  });

const policyVersion = z
  .string()
  .regex(/^(sha-256=)?[\w-]{43}$/, 'must be a version as PUT /api/policy and the log of changes name it')
  .transform((text) => text.replace(/^sha-256=/, ''));

/** The query of `GET /api/policy`. */
export const policyQuery = z.object({
  view: z.enum(['words']).optional().describe('words returns the policy in plain sentences'),
  version: policyVersion.optional().describe('an earlier published policy instead of the one in force, by its version'),
});

/** The policy for people: `GET /api/policy?view=words`. */
export const policyWords = z
  .strictObject({
    policy: z
      .string()
      .describe(
        'identifies the policy that the sentences describe: its uid, `#sha-256=`, and the digest of its canonical form (RFC 8785) in base64url. Before you show the sentences, compare it with the policy that will be signed.',
      ),
    sentences: z.array(z.string()).describe('one for each permission, prohibition and obligation of the policy'),
    source: z.enum(['file', 'published']).describe('file: the policy of the deployment, which is in force until one is published'),
  })
  .meta({ id: 'PolicyWords', description: 'The usage policy in plain sentences.' });

/** The query of a publication. */
export const publicationQuery = z.object({
  dry_run: z.enum(['true', 'false']).optional().describe('true checks the policy, and changes nothing'),
});

const issue = z.strictObject({ path: z.string().describe('JSON pointer'), problem: z.string() });

/** What a publication has changed, or would change. */
export const publication = z
  .strictObject({
    digest: z.string().describe('of the policy as it is served: the ETag of GET /api/policy'),
    version: z.string().describe('digest of its text in which `{base_url}` stands for the address; names it in the log of changes'),
    seq: z.int().min(0).describe('number of the entry in the log of changes; in a dry run, and if nothing changes, of an earlier one'),
    changes: z.array(z.string()).describe('the difference in plain sentences; empty if there is none'),
    agents: z
      .int()
      .min(0)
      .describe('number of agents that got a PAT in the last 90 days, up to 10,000; each must sign again if the digest changes'),
    warnings: z.array(issue).describe('rules without effect, unknown intents, and limits that one counter cannot sustain'),
  })
  .meta({ id: 'Publication', description: 'A published policy, and what it changes.' });

export type Publication = z.infer<typeof publication>;
export type Policy = z.infer<typeof policy>;
export type PolicyWords = z.infer<typeof policyWords>;
export type Constraint = z.infer<typeof constraint>;
export type Duty = z.infer<typeof duty>;
export type PolicyPermission = z.infer<typeof permission>;
export type Prohibition = z.infer<typeof prohibition>;
export type Obligation = z.infer<typeof obligation>;
