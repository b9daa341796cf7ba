import { randomUUID } from 'node:crypto';
import { keys } from '../table/keys.ts';
import type { Table } from '../table/table.ts';

/** How long a record outlives its document, to tolerate clock skew. */
const sweepAfterSeconds = 3_600;

/** Used jtis, by signer. */
export const openUsedJtis = (table: Table) => ({
  /**
   * Marks a jti as used.
   * @returns false if it has been used before
   * @param signer - keeps the jtis of different signers and purposes apart
   * @param expiresAt - when the document expires, in seconds since the epoch, which may have a fraction
   */
  consume: (signer: string, jti: string, expiresAt: number): Promise<boolean> => {
    // a retry after a lost response recognises its own write
    const by = randomUUID();
    const item = { ...keys.jti(signer, jti), by, expires_at: Math.ceil(expiresAt) + sweepAfterSeconds };
    return table.put(item, { when: [['any', ['absent', 'pk'], ['=', 'by', by]]] });
  },
});

export type UsedJtis = ReturnType<typeof openUsedJtis>;
