import * as z from 'zod';
import { pageQuery } from './pagination.ts';

export const changeActions = [
  'create',
  'update',
  'delete',
  'credential',
  'block',
  'unblock',
  'approve',
  'revoke',
  'unbind',
  'clear',
] as const;
export const changedKinds = ['service', 'intent', 'agent', 'key'] as const;
export const outcomes = ['applied', 'not_applied', 'open', 'unknown'] as const;

/** What a page of the history is asked for. */
export const changesQuery = z.object({
  since: z.iso
    .datetime({ offset: true, error: 'must be a date and time as in 2027-03-01T09:30:00Z' })
    .optional()
    .describe('leaves out older entries'),
  kind: z.enum(changedKinds).optional().describe('only changes of records of this kind'),
  id: z.string().max(256).optional().describe('only changes of the record with this service_id, intent_uid, agent_id or key thumbprint'),
  actor: z.string().max(256).optional().describe('only changes by the admin of this user name, client id or token subject'),
  page_size: pageQuery.shape.page_size,
  after: z
    .string()
    .regex(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/, 'must be as the next link gives it')
    .optional()
    .describe('the entry that the page follows, as the next link gives it'),
});

/** One entry of the history of changes by admins. */
export const change = z
  .strictObject({
    changed_at: z.iso.datetime(),
    actor: z.strictObject({
      subject: z.string().describe('`sub` of the access token; `operator` for a program that works on the tables themselves'),
      user_name: z.string().optional().describe('of a person'),
      client_id: z.string().optional().describe('of a machine'),
    }),
    action: z.enum(changeActions),
    kind: z.enum(changedKinds),
    id: z.string().describe('service_id, intent_uid, agent_id or thumbprint of a key'),
    rev: z.string().describe('of the record that the change wrote'),
    namespace: z.string().optional().describe('that the record belongs to'),
    digest_before: z.string().optional().describe('what the record said before: `sha-256=` and the digest of its canonical form'),
    digest_after: z.string().optional().describe('what it says since'),
    request_id: z.string().optional(),
    outcome: z
      .enum(outcomes)
      .describe(
        'whether the change took place; `open`: the request may still be at work; `unknown`: it was cut short, and no record tells (agents)',
      ),
  })
  .meta({ id: 'Change', description: 'A change by an admin.' });

export type Change = z.infer<typeof change>;

export const changePage = z.strictObject({ changes: z.array(change) }).meta({
  id: 'ChangePage',
  description: 'A page of the history, newest first. A page of a selection may be short, or empty, though a next one follows.',
});
