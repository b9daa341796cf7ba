import { definePartitions, type Key, toSortKey } from '../core/table/keys.ts';

declare module '../core/table/keys.ts' {
  interface FeatureRecords {
    session: true;
    consent: true;
    signInCode: true;
    refreshFamily: true;
  }
}

const key = definePartitions({
  session: { table: 'activity', prefix: 'SESSION#' },
  consent: { table: 'activity', prefix: 'CONSENT#' },
  signInCode: { table: 'activity', prefix: 'CODE#' },
  refreshFamily: { table: 'activity', prefix: 'REFRESH#' },
});

export const signInKeys = {
  /** @param digest - of the secret in the person's cookie */
  session: (digest: string): Key => key('session', digest, 'SESSION'),
  consent: (person: string, clientId: string): Key => key('consent', person, toSortKey(clientId)),
  code: (digest: string): Key => key('signInCode', digest, 'CODE'),
  refreshFamily: (digest: string): Key => key('refreshFamily', digest, 'REFRESH'),
};
