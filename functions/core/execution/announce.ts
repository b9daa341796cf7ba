import type { ApprovalContent } from '../../../schemas/deferred.ts';
import { openSignedRequests, serviceEndpoint } from '../signed-request.ts';

const region = process.env.AWS_REGION ?? '';

/**
 * Opens a publisher of the event `approval.waiting` on the account's event bus. The event names the agent, the intent and the digest of the call, never
 * an argument. Operators route it with their own rules, for example to a chat.
 * @returns a function that throws if EventBridge does not accept the event
 */
export function openAnnouncements(): (shown: ApprovalContent, digest: string, gate: string) => Promise<void> {
  const url = new URL(`${serviceEndpoint('events', region)}/`);
  const send = openSignedRequests(2_000, { service: 'events', region });
  const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': 'AWSEvents.PutEvents' };
  return async ({ id, agent_id, key_thumbprint, intent_uid, since, expires_at }, digest, gate) => {
    const Detail = JSON.stringify({ gate, id, agent_id, key_thumbprint, intent_uid, since, expires_at, digest });
    const Entries = [{ Source: 'intent-gate', DetailType: 'approval.waiting', Detail }];
    const { status, body } = await send({ method: 'POST', url, headers, body: JSON.stringify({ Entries }) });
    if (status !== 200 || (JSON.parse(body) as { FailedEntryCount?: number }).FailedEntryCount !== 0)
      throw new Error(`EventBridge answered ${status}`);
  };
}
