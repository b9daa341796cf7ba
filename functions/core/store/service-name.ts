import { ApiError } from '../http/api-error.ts';
import { foldName, keys } from './keys.ts';
import type { ServiceRecord } from './records.ts';
import { newRev } from './rev.ts';
import type { Table } from './table.ts';

/** No request lives this long, so a claim that is older and still unused will never be used. */
const claimLifeMs = 60_000;

interface NameClaim extends Record<string, unknown> {
  service_id: string;
  /** which claim this is: only its own releases it */
  claim: string;
  claimed_at: number;
}

const nameTaken = (detail: string) =>
  new ApiError('CONFLICT', `${detail} Choose another service_name.`, {
    details: { issues: [{ path: '/service_name', problem: 'must be unique' }] },
  });

/**
 * Claims a name for a service before the service's record bears it. A name is live while the service that holds it bears it;
 * a dead claim may be taken over once it is older than any request.
 * @returns the claim, which the record has to carry as `name_claim`
 * @throws ApiError CONFLICT where the name is another service's
 */
export async function claimName(table: Table, name: string, serviceId: string): Promise<string> {
  const claim = newRev();
  const pointer = { ...keys.serviceName(name), service_id: serviceId, claim, claimed_at: Date.now() };
  for (let attempt = 0; attempt < 5; attempt++) {
    const isClaimed = await table.put(pointer, {
      ConditionExpression: 'attribute_not_exists(pk) OR service_id = :me',
      ExpressionAttributeValues: { ':me': serviceId },
    });
    if (isClaimed) return claim;
    const holder = await table.get<NameClaim>(keys.serviceName(name));
    if (!holder) continue;
    const service = await table.get<ServiceRecord & Record<string, unknown>>(keys.service(holder.service_id));
    if (service && !service.deleted_at && foldName(service.service_name) === foldName(name)) {
      throw nameTaken('Another service has this name (letter case and surrounding white space do not count).');
    }
    if (Date.now() - holder.claimed_at < claimLifeMs) throw nameTaken('This name is being claimed or was given up less than a minute ago.');
    const isTakenOver = await table.put(pointer, {
      ConditionExpression: 'claim = :dead',
      ExpressionAttributeValues: { ':dead': holder.claim },
    });
    if (isTakenOver) return claim;
  }
  throw nameTaken('Several requests claim this name at once.');
}

/** Gives a claim up. Another claim of the same name, even by the same service, stays. */
export async function releaseName(table: Table, name: string, claim: string): Promise<void> {
  await table.delete(keys.serviceName(name), { ConditionExpression: 'claim = :mine', ExpressionAttributeValues: { ':mine': claim } });
}
