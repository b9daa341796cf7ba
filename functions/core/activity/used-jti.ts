import { randomUUID } from 'node:crypto';
import { keys } from '../table/keys.ts';
import type { Table } from '../table/table.ts';

/** How long a record stays after its document has expired, in case clocks differ. */
const sweepAfterSeconds = 3_600;

/** The jtis that have been used, by signer. */
export interface UsedJtis {
  /**
   * Takes a jti; false if it has been taken before.
   * @param signer - keeps the jtis of different signers and purposes apart
   * @param expiresAt - when the document expires, in seconds since the epoch
   */
  consume(signer: string, jti: string, expiresAt: number): Promise<boolean>;
}

export const openUsedJtis = (table: Table): UsedJtis => ({
  consume: (signer, jti, expiresAt) => {
    // a write that took effect and whose answer was lost is sent again, and must recognise itself
    const by = randomUUID();
    return table.put(
      { ...keys.jti(signer, jti), by, expires_at: expiresAt + sweepAfterSeconds },
      {
        when: [['any', ['absent', 'pk'], ['=', 'by', by]]],
      },
    );
  },
});
