import { Refusal } from '../../client/errors.ts';
import { type Approval, approvalPage, type Decided, decided } from '../../schemas/approvals/approvals.ts';
import { type Api, readAnswer } from '../api.ts';
import { readPages } from '../read.ts';

/** The calls that wait for the admin's approval, oldest first. */
export const readApprovals = async (api: Api, query: Record<string, string> = {}): Promise<Approval[]> =>
  (await Array.fromAsync(readPages(api, '/api/approvals', query, approvalPage, true))).flatMap(({ approvals }) => approvals);

/** Decides about exactly the call that was shown. */
export async function decide(api: Api, { id, digest }: Approval, decision: Decided['decision'], reason?: string): Promise<Decided> {
  const reply = await api.call('POST', `/api/approvals/${encodeURIComponent(id)}`, {
    isAdmin: true,
    headers: { 'If-Match': `"${digest}"` },
    body: { decision, ...(reason !== undefined && { reason }) },
  });
  return readAnswer(decided, reply);
}

/** Denies calls, except those that somebody else decides meanwhile. */
export async function denyAll(api: Api, waiting: readonly Approval[], reason?: string): Promise<Decided[]> {
  const denied: Decided[] = [];
  for (const approval of waiting)
    await decide(api, approval, 'deny', reason).then(
      (one) => denied.push(one),
      (error: unknown) => {
        if (!(error instanceof Refusal && error.status === 409)) throw error;
      },
    );
  return denied;
}
