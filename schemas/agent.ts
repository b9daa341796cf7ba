import * as z from 'zod';
import { name } from './text.ts';

/** How an agent calls itself. */
export const agentId = name(256);

/** What admins read of an agent. */
export const agent = z
  .strictObject({
    agent_id: z.string(),
    /** RFC 7638 thumbprint of the key that the agent_id is bound to */
    key_thumbprint: z.string(),
    first_seen: z.iso.datetime(),
    last_issue: z.iso.datetime(),
    revoked_at: z.iso.datetime().optional(),
  })
  .meta({ id: 'Agent', description: 'An agent_id and the key that it is bound to.' });

export type Agent = z.infer<typeof agent>;

const toDateTime = (timeMs: number): string => new Date(timeMs).toISOString();

/** @param record - times in milliseconds since the epoch */
export const toAgent = (record: {
  agent_id: string;
  thumbprint: string;
  first_seen: number;
  last_issue: number;
  revoked_at?: number;
}): Agent => ({
  agent_id: record.agent_id,
  key_thumbprint: record.thumbprint,
  first_seen: toDateTime(record.first_seen),
  last_issue: toDateTime(record.last_issue),
  ...(record.revoked_at !== undefined && { revoked_at: toDateTime(record.revoked_at) }),
});
