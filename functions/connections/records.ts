import { isPerson } from '../core/pat/holder.ts';
import { definePartitions, type Key } from '../core/table/keys.ts';

declare module '../core/table/keys.ts' {
  interface FeatureRecords {
    grant: true;
    connecting: true;
  }
}

const key = definePartitions({
  grant: { table: 'activity', prefix: 'GRANT#' },
  connecting: { table: 'activity', prefix: 'CONNECTING#' },
});

export const connectionKeys = {
  /** @param person - see `core/pat/holder.ts` */
  ofPerson: (person: string, serviceId: string): Key => key('grant', person, serviceId),
  /** the token of the gate itself, and the last failure of any token of the service */
  ofService: (serviceId: string): Key => key('grant', serviceId, 'SERVICE'),
  /** an entry of the list of the people who are connected to a service */
  listed: (serviceId: string, person: string): Key => key('grant', serviceId, `PERSON#${person}`),
  /** a person who is at the issuer. @param digest - of `state` */
  connecting: (digest: string): Key => key('connecting', digest, 'CONNECTING'),
};

/** The key of the grant that is read with each execution of a person. */
export const personGrantKeys = (serviceId: string, principal: string): Key[] =>
  isPerson(principal) ? [connectionKeys.ofPerson(principal, serviceId)] : [];
