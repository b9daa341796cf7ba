import { foldName } from '../../../schemas/text.ts';
import { ApiError } from '../api-error.ts';
import { keys } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { newUlid } from '../ulid.ts';
import type { ServiceRecord } from './records.ts';

/** No request lives this long, so a claim that is older and still unused will never be used. */
const claimLifeMs = 60_000;

interface NameClaim extends Record<string, unknown> {
  service_id: string;
  /** which claim this is: only its own releases it */
  claim: string;
  claimed_at: number;
}

/** @param serviceId - of the service that has the name, for callers who meant to update that one */
const nameTaken = (detail: string, serviceId?: string) =>
  new ApiError('CONFLICT', `${detail} Choose another service_name.`, {
    details: { issues: [{ path: '/service_name', problem: 'must be unique' }], ...(serviceId !== undefined && { service_id: serviceId }) },
  });

/**
 * Claims a name for a service before the service's record takes it. A name is live while the record of the service that claimed it has it;
 * a dead claim may be taken over once its service is deleted or it is older than any request. At most one request at a time
 * holds a claim that no record has taken yet, even among those of one service.
 * @returns the claim, which the record has to carry as `name_claim`; undefined if the service already has the name
 * @throws ApiError CONFLICT if the name is another service's
 */
export async function claimName(table: Table, name: string, serviceId: string): Promise<string | undefined> {
  const claim = newUlid();
  const pointer = { ...keys.serviceName(name), service_id: serviceId, claim, claimed_at: Date.now() };
  for (let attempt = 0; attempt < 5; attempt++) {
    if (await table.put(pointer, { ConditionExpression: 'attribute_not_exists(pk)' })) return claim;
    const holder = await table.get<NameClaim>(keys.serviceName(name));
    if (!holder) continue;
    if (holder.claim === claim) return claim;
    const service = await table.get<ServiceRecord & Record<string, unknown>>(keys.service(holder.service_id));
    if (service && !service.deleted_at && foldName(service.service_name) === foldName(name)) {
      if (holder.service_id === serviceId) return undefined;
      throw nameTaken('Another service has this name (letter case and surrounding white space do not count).', holder.service_id);
    }
    if (!service?.deleted_at && Date.now() - holder.claimed_at < claimLifeMs) {
      throw nameTaken('Another request is claiming this name, or one was cut short less than a minute ago.');
    }
    const isTakenOver = await table.put(pointer, {
      ConditionExpression: 'claim = :dead',
      ExpressionAttributeValues: { ':dead': holder.claim },
    });
    if (isTakenOver) return claim;
  }
  throw nameTaken('Several requests claim this name at once.');
}

/** Gives up a claim that no record uses any more. Another claim of the same name stays. */
export async function releaseName(table: Table, name: string, claim: string): Promise<void> {
  await table.delete(keys.serviceName(name), { ConditionExpression: 'claim = :mine', ExpressionAttributeValues: { ':mine': claim } });
}
