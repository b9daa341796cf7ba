import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import type { ApprovalContent } from '../../schemas/approvals/approvals.ts';
import { awsClientSettings } from '../core/aws/aws-client.ts';

/** What others are told of a waiting call: the agent, the intent and the digest of the call, never an argument. @param gate - its address */
export function noticeOf({ id, agent_id, key_thumbprint, intent_uid, since, expires_at }: ApprovalContent, digest: string, gate: string) {
  return { gate, id, agent_id, key_thumbprint, intent_uid, since, expires_at, digest };
}

/**
 * Opens a publisher of the event `approval.waiting` on the account's event bus. Operators route it with their own rules, for example to a chat.
 * @returns a function that throws if EventBridge does not accept the event
 */
export function openAnnouncements(): (shown: ApprovalContent, digest: string, gate: string) => Promise<void> {
  const client = new EventBridgeClient(awsClientSettings(2_000, 1));
  return async (shown, digest, gate) => {
    const Detail = JSON.stringify(noticeOf(shown, digest, gate));
    const Entries = [{ Source: 'intent-gate', DetailType: 'approval.waiting', Detail }];
    const { FailedEntryCount } = await client.send(new PutEventsCommand({ Entries }));
    if (FailedEntryCount !== 0) throw new Error('EventBridge did not accept the event');
  };
}
