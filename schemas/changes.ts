import * as z from 'zod';
import { importIdPattern, importIdProblem } from './header.ts';
import { pageQuery } from './pagination.ts';

const changeActions = {
  create: 'the record is new',
  update: 'it was replaced',
  delete: 'it was removed',
  credential: "the service's credential was set or removed",
  block: 'the agent was blocked',
  unblock: 'its block was lifted',
  approve: 'the agent may have PATs, or the call may be made',
  deny: 'the call is not made',
  revoke: 'its PATs were revoked',
  unbind: 'its id was freed for another key',
  clear: 'all requests for approval were removed',
  publish: 'the policy was published',
};
const describedActions = Object.entries(changeActions)
  .map(([action, words]) => `\`${action}\`: ${words}`)
  .join('; ');

export const changedKinds = ['service', 'intent', 'agent', 'execution', 'policy'] as const;

const importId = z.string().regex(importIdPattern, importIdProblem);

export const changesQuery = z.object({
  since: z.iso
    .datetime({ offset: true, error: 'must be a date and time as in 2027-03-01T09:30:00Z' })
    .optional()
    .describe('omits older entries'),
  kind: z.enum(changedKinds).optional().describe('only entries that changed a record of this kind'),
  id: z
    .string()
    .max(320)
    .optional()
    .describe(
      'only entries that changed the record with this service_id, intent_uid, agent_id or execution id; intents that went with their service are not named, only the service',
    ),
  actor: z.string().max(256).optional().describe('only changes by the admin of this user name, client id or token subject'),
  import_id: importId.optional().describe('only entries of this import'),
  page_size: pageQuery.shape.page_size,
  before: z
    .string()
    .regex(/^[1-9][0-9]{0,11}$/, 'must be as in the next link')
    .optional()
    .describe('only entries with a smaller `seq`, as in the next link'),
});

const digest = z.string().describe('`sha-256=` and the digest of a canonical form (RFC 8785), base64url');

const loggedChange = z.strictObject({
  kind: z.enum(changedKinds),
  id: z
    .string()
    .describe(
      'service_id, intent_uid, agent_id or execution id; `pending` for all agents that waited for approval; `policy` for the policy in force, `trial` for the one on trial',
    ),
  action: z.enum(Object.keys(changeActions) as (keyof typeof changeActions)[]).describe(describedActions),
  digest_before: digest
    .optional()
    .describe(
      'of the previous record; for a credential, of its metadata; for a call, the digest that was decided about; for a policy, of its text with `{base_url}`',
    ),
  digest_after: digest.optional().describe('of the new record'),
});

export type LoggedChange = z.infer<typeof loggedChange>;

/** One entry of the registry's log: one transaction. */
const logEntry = z
  .strictObject({
    seq: z.int().min(1).describe('number of the entry, from 1 without gaps; the `rev` of records that the entry wrote'),
    at: z.iso.datetime().describe('never earlier than that of the previous entry'),
    actor: z.strictObject({
      subject: z.string().describe('`sub` of the access token; `operator` for a program that writes to the tables directly'),
      user_name: z.string().optional().describe('of a person'),
      client_id: z.string().optional().describe('of a machine'),
    }),
    request_id: z.string(),
    import_id: importId.optional().describe('shared by the entries of one import'),
    namespace: z.string().optional().describe('namespace of the records'),
    changes: z.array(loggedChange).min(1),
    previous: digest.nullable().describe('digest of the previous entry as returned by this endpoint; null in the first'),
  })
  .meta({ id: 'LogEntry', description: 'One atomic change of the registry or of agents.' });

/** A replaced or deleted record, before and after. */
export const recordVersions = z.strictObject({
  kind: z.enum(['service', 'intent']),
  id: z.string(),
  service_id: z.string().describe('id of the service that the record is or belongs to'),
  before: z.record(z.string(), z.unknown()),
  after: z.record(z.string(), z.unknown()).optional().describe('absent if the record was deleted'),
});

/** One entry of the log, with its records before and after. */
export const changeDetails = z
  .strictObject({
    entry: logEntry,
    versions: z
      .array(recordVersions)
      .optional()
      .describe(
        'earlier and later versions of the services and intents that the entry replaced or deleted; absent if there are none, or if they are too large to keep',
      ),
  })
  .meta({ id: 'ChangeDetails', description: 'One change, with its records before and after.' });

export type ChangeDetails = z.infer<typeof changeDetails>;

export type LogEntry = z.infer<typeof logEntry>;

export const changePage = z
  .strictObject({
    entries: z.array(logEntry),
    head: z
      .strictObject({ seq: z.int().min(0), digest: digest.nullable() })
      .describe('the number of the newest entry, 0 if there is none, and its digest, which the next entry will have as `previous`'),
  })
  .meta({
    id: 'ChangePage',
    description: 'A page of the log, newest first. With filters, a page may be short or empty although more follow.',
  });

export type ChangePage = z.infer<typeof changePage>;

export type LogHead = ChangePage['head'];
