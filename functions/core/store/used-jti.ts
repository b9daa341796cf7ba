import { randomUUID } from 'node:crypto';
import { keys } from './keys.ts';
import type { Table } from './table.ts';

/** How long a record stays after its document has stopped counting by itself, whatever the clocks say. */
const sweepAfterSeconds = 3_600;

/** The jtis that have been used, by whoever signed them. */
export interface UsedJtis {
  /**
   * Takes a jti; false where somebody has taken it before.
   * @param signer - keeps the jtis of different signers and purposes apart
   * @param expiresAt - seconds since the epoch from which on the document is refused anyway; without it the record stays for ever
   */
  consume(signer: string, jti: string, expiresAt?: number): Promise<boolean>;
}

export const openUsedJtis = (table: Table): UsedJtis => ({
  consume: (signer, jti, expiresAt) => {
    // a write that took effect and whose answer was lost is sent again, and must know itself
    const by = randomUUID();
    return table.put(
      { ...keys.jti(signer, jti), by, ...(expiresAt !== undefined && { expires_at: expiresAt + sweepAfterSeconds }) },
      {
        ConditionExpression: 'attribute_not_exists(pk) OR #by = :by',
        ExpressionAttributeNames: { '#by': 'by' },
        ExpressionAttributeValues: { ':by': by },
      },
    );
  },
});
