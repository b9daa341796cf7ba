import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import type { ApprovalContent } from '../../schemas/approvals/approvals.ts';
import { awsClientSettings } from '../core/aws/aws-client.ts';

/**
 * Opens a publisher of the event `approval.waiting` on the account's event bus. The event names the agent, the intent and the digest of the call, never
 * an argument. Operators route it with their own rules, for example to a chat.
 * @returns a function that throws if EventBridge does not accept the event
 */
export function openAnnouncements(): (shown: ApprovalContent, digest: string, gate: string) => Promise<void> {
  const client = new EventBridgeClient(awsClientSettings(2_000, 1));
  return async ({ id, agent_id, key_thumbprint, intent_uid, since, expires_at }, digest, gate) => {
    const Detail = JSON.stringify({ gate, id, agent_id, key_thumbprint, intent_uid, since, expires_at, digest });
    const Entries = [{ Source: 'intent-gate', DetailType: 'approval.waiting', Detail }];
    const { FailedEntryCount } = await client.send(new PutEventsCommand({ Entries }));
    if (FailedEntryCount !== 0) throw new Error('EventBridge did not accept the event');
  };
}
