import { credentialOrigins, type StoredCredential } from '../../../schemas/credential.ts';
import type { ServiceInput } from '../../../schemas/service.ts';
import { isUlid, newUlid } from '../ulid.ts';
import { announceChange } from './changes.ts';
import { foldName, keys } from './keys.ts';
import { createRoster, removeMembers } from './members.ts';
import type { ServiceRecord } from './records.ts';
import { recordChanged } from './refusals.ts';
import { claimName, releaseName } from './service-name.ts';
import type { Item, Table } from './table.ts';

/** Tombstones outlive the change pointers that announce them. */
export const tombstoneLifeSeconds = 7 * 24 * 3600;

/** Before a service was put back it had been deleted for longer than this, whatever the clocks say. */
const emptiedAgoMs = 30_000;

type ServiceItem = ServiceRecord & Item;

/** Says whether the writer knew the record as it stands: from `If-Match`; always true without it. */
export type IfMatch = (record: ServiceRecord) => boolean;

/** Services. Reads see only live ones. */
export function openServices(table: Table) {
  const read = async (serviceId: string) => (isUlid(serviceId) ? table.get<ServiceItem>(keys.service(serviceId)) : undefined);

  /** One conditional write of the record over the revision that was read. A write whose answer was lost is recognised by its revision. */
  async function overwrite(seen: ServiceRecord, next: ServiceRecord & { expires_at?: number }): Promise<boolean> {
    await announceChange(table, { rev: next.rev, kind: 'service', id: next.service_id });
    const isWritten = await table.put(
      { ...keys.service(next.service_id), ...next },
      { ConditionExpression: 'rev = :seen', ExpressionAttributeValues: { ':seen': seen.rev } },
    );
    return isWritten || (await read(next.service_id))?.rev === next.rev;
  }

  async function find(serviceId: string): Promise<ServiceRecord | undefined> {
    const record = await read(serviceId);
    return record?.deleted_at ? undefined : record;
  }

  return {
    find,

    /** @throws ApiError CONFLICT if the name is taken */
    async create(input: ServiceInput): Promise<ServiceRecord> {
      const rev = newUlid();
      const serviceId = newUlid();
      const claim = await claimName(table, input.service_name, serviceId);
      const record: ServiceRecord = { kind: 'service', service_id: serviceId, ...input, rev, name_claim: claim ?? rev };
      await Promise.all([announceChange(table, { rev, kind: 'service', id: serviceId }), createRoster(table, serviceId)]);
      await table.put({ ...keys.service(serviceId), ...record });
      return record;
    },

    /**
     * Puts a service back under the id that it had, without intents: what its deletion left behind is removed first. The deletion must be
     * a minute old, so that no request is still at it.
     * @returns undefined if the service is there
     * @throws ApiError CONFLICT if the name is taken
     */
    async putBack(serviceId: string, input: ServiceInput): Promise<ServiceRecord | undefined> {
      const seen = await read(serviceId);
      if (seen && !seen.deleted_at) return undefined;
      const claim = await claimName(table, input.service_name, serviceId);
      if (claim === undefined) return undefined;
      await removeMembers(table, serviceId, Number.POSITIVE_INFINITY);
      const rev = newUlid();
      const emptiedAt = Date.now() - emptiedAgoMs;
      const record: ServiceRecord = { kind: 'service', service_id: serviceId, ...input, rev, name_claim: claim, emptied_at: emptiedAt };
      await Promise.all([announceChange(table, { rev, kind: 'service', id: serviceId }), createRoster(table, serviceId)]);
      const isWritten = await table.put(
        { ...keys.service(serviceId), ...record },
        seen
          ? { ConditionExpression: 'rev = :seen', ExpressionAttributeValues: { ':seen': seen.rev } }
          : { ConditionExpression: 'attribute_not_exists(pk)' },
      );
      if (isWritten || (await read(serviceId))?.rev === rev) return record;
      await releaseName(table, input.service_name, claim);
      return undefined;
    },

    /**
     * Replaces a service. Its new name is claimed before the record takes it, its old one is released after.
     * @returns undefined if there is no such service
     * @throws ApiError CONFLICT if the name is taken or the writer knew another revision
     */
    async replace(serviceId: string, input: ServiceInput, ifMatch: IfMatch): Promise<ServiceRecord | undefined> {
      let claimed: string | undefined;
      const giveUp = async () => claimed && releaseName(table, input.service_name, claimed);
      for (let attempt = 0; attempt < 10; attempt++) {
        const seen = await find(serviceId);
        if (!seen || !ifMatch(seen)) {
          await giveUp();
          if (seen) throw recordChanged();
          return undefined;
        }
        const isRenamed = foldName(seen.service_name) !== foldName(input.service_name);
        if (isRenamed) claimed ??= await claimName(table, input.service_name, serviceId);
        if (isRenamed && !claimed) continue;
        const nameClaim = isRenamed && claimed ? claimed : seen.name_claim;
        const { credential } = seen;
        const next: ServiceRecord = {
          kind: 'service',
          service_id: serviceId,
          ...input,
          rev: newUlid(),
          name_claim: nameClaim,
          // its origins stay when the service moves: whoever changes service_url must not take the credential elsewhere
          ...(credential && { credential: { ...credential, origins: credentialOrigins(seen) } }),
          ...(seen.emptied_at !== undefined && { emptied_at: seen.emptied_at }),
        };
        if (!(await overwrite(seen, next))) continue;
        if (isRenamed) await releaseName(table, seen.service_name, seen.name_claim);
        return next;
      }
      await giveUp();
      throw recordChanged();
    },

    /**
     * Says on a service's record that it has a credential, or none if `credential` is absent. This is a change of the record like any other:
     * with a new revision, so that no writer who read the record before can undo it.
     * @returns undefined if there is no such service
     * @throws ApiError CONFLICT if the writer knew another revision
     */
    async setCredential(serviceId: string, credential: StoredCredential | undefined, ifMatch: IfMatch): Promise<ServiceRecord | undefined> {
      for (let attempt = 0; attempt < 10; attempt++) {
        const seen = await find(serviceId);
        if (!seen) return undefined;
        if (!ifMatch(seen)) throw recordChanged();
        const { credential: previous, ...rest } = seen;
        if (!previous && !credential) return seen;
        const next: ServiceRecord = { ...rest, rev: newUlid(), ...(credential && { credential }) };
        if (await overwrite(seen, next)) return next;
      }
      throw recordChanged();
    },

    /**
     * Deletes a service: from its tombstone on, none of its intents is live; then they are removed, then its name is free.
     * A deletion that was cut short is finished by the next one.
     * @param untilMs - when to leave the removal of dead intents to the next deletion, in milliseconds since the epoch
     * @returns whether there was such a service
     * @throws ApiError CONFLICT if the writer knew another revision
     */
    async remove(serviceId: string, ifMatch: IfMatch, untilMs = Number.POSITIVE_INFINITY): Promise<boolean> {
      for (let attempt = 0; attempt < 10; attempt++) {
        const seen = await read(serviceId);
        if (!seen) return false;
        if (!seen.deleted_at) {
          if (!ifMatch(seen)) throw recordChanged();
          const now = Date.now();
          const tombstone = { ...seen, rev: newUlid(), deleted_at: now, expires_at: Math.floor(now / 1000) + tombstoneLifeSeconds };
          if (!(await overwrite(seen, tombstone))) continue;
        }
        await removeMembers(table, serviceId, untilMs);
        await releaseName(table, seen.service_name, seen.name_claim);
        return !seen.deleted_at;
      }
      throw recordChanged();
    },
  };
}

export type Services = ReturnType<typeof openServices>;
