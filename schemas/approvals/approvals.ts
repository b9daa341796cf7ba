import * as z from 'zod';
import { publicHeaders } from '../header.ts';
import { firstPage, pageQuery } from '../pagination.ts';
import { name } from '../text.ts';

/** The parts of a call that the approver sees. */
export const approvalContent = z.strictObject({
  id: z.string().describe('the `Execution-Id` of the call'),
  agent_id: z.string(),
  key_thumbprint: z.string().optional().describe("of the agent's key; absent if a person signed in"),
  calls_as: z.string().optional().describe('`sub` of the person whose token of the service the call will carry'),
  intent_uid: z.string(),
  intent_name: z.string(),
  intent_digest: z.string().describe('of the intent that will be called'),
  service_name: z.string(),
  parameters: z.record(z.string(), z.unknown()).describe('every argument, exactly as it will be sent'),
  headers: publicHeaders.optional().describe('header fields that the service adds to each of its calls'),
  rules: z.array(z.string()).describe('the rules that require approval, in words'),
  prices: z.array(z.strictObject({ amount: z.number(), currency: z.string() })).describe('prices of the call under the policy'),
  policy_digest: z.string(),
  since: z.iso.datetime(),
  expires_at: z.iso.datetime().describe('when the call expires'),
});

export type ApprovalContent = z.infer<typeof approvalContent>;

export const approval = approvalContent
  .extend({ digest: z.string().describe('digest of all other members (SHA-256 of RFC 8785), for `If-Match`') })
  .meta({ id: 'Approval', description: 'A call that waits for approval, as it will be made.' });

export type Approval = z.infer<typeof approval>;

export const approvalPage = z
  .strictObject({
    approvals: z.array(approval),
    waiting: z.int().min(0).describe('how many calls wait on all pages; may briefly include some that have just been decided'),
  })
  .meta({ id: 'ApprovalPage' });

export type ApprovalPage = z.infer<typeof approvalPage>;

/** Maximum size of a page of approvals: each may hold 256 KB of arguments. */
export const maxApprovalsOfPage = 10;

export const approvalQuery = z.object({
  page: firstPage,
  page_size: pageQuery.shape.page_size.describe(`entries per page; never more than ${maxApprovalsOfPage}`),
  after: z.string().max(100).optional().describe('the last id of the previous page, as in the next link'),
  agent_id: z.string().max(1_000).optional().describe('only calls of this agent'),
});

export const decisionInput = z
  .strictObject({
    decision: z.enum(['approve', 'deny']),
    reason: name(1_000).optional().describe('reason for a denial; shown to the agent'),
  })
  .meta({ id: 'DecisionInput', description: 'A decision about a call.' });

export const decided = z
  .strictObject({ id: z.string(), decision: z.enum(['approve', 'deny']), decided_by: z.string(), decided_at: z.iso.datetime() })
  .meta({ id: 'Decided', description: 'The recorded decision about a call.' });

export type Decided = z.infer<typeof decided>;
