import type { StoredCredential } from '../../../schemas/credential.ts';
import { type ServiceInput, toService } from '../../../schemas/service.ts';
import { foldName } from '../../../schemas/text.ts';
import { type Admin, operator, requireNamespace } from '../admin/admin.ts';
import { invalidParameter } from '../api-error.ts';
import { keys } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { isUlid, newUlid } from '../ulid.ts';
import { announceChange } from './changes.ts';
import { type AdminChange, digestOf, type History, openHistory } from './history.ts';
import { createRoster, findMemberOutside, removeMembers } from './members.ts';
import type { ServiceRecord } from './records.ts';
import { recordChanged } from './refusals.ts';
import { claimName, releaseName } from './service-name.ts';

/** Before a service was put back it had been deleted for longer than this, whatever the clocks say. */
const emptiedAgoMs = 30_000;

type ServiceItem = ServiceRecord & Item;

/** Says whether the writer knew the record as it stands: from `If-Match`; always true without it. */
export type IfMatch = (record: ServiceRecord) => boolean;

/** What the history says about a service's definition, or about what is known of its credential: never when it was set, or by whom. */
const definitionDigest = (record: ServiceRecord): string => digestOf(toService(record));
const credentialDigest = ({ credential }: ServiceRecord): string | undefined =>
  credential && digestOf(Object.fromEntries(Object.entries(credential).filter(([name]) => !name.startsWith('set_'))));

/** Services. Reads see only live ones. Without {@link as}, changes are those of the operators' programs. */
export function openServices(table: Table, history: History = openHistory(table)) {
  const read = async (serviceId: string) => (isUlid(serviceId) ? table.get<ServiceItem>(keys.service(serviceId)) : undefined);

  async function find(serviceId: string): Promise<ServiceRecord | undefined> {
    const record = await read(serviceId);
    return record?.deleted_at ? undefined : record;
  }

  /** The changes that an admin makes. Each leaves one entry in the history, and is refused outside of the admin's namespaces. */
  function changesBy(by: Admin) {
    /** Says that a record is about to be written over what was seen. */
    async function announce(action: AdminChange['action'], seen: ServiceRecord | undefined, next: ServiceRecord): Promise<AdminChange> {
      const { rev, service_id: id, namespace } = next;
      const digest = action === 'credential' ? credentialDigest : definitionDigest;
      const change: AdminChange = {
        rev,
        kind: 'service',
        id,
        action,
        namespace,
        before_rev: seen?.rev,
        digest_before: seen && !seen.deleted_at ? digest(seen) : undefined,
        digest_after: next.deleted_at ? undefined : digest(next),
      };
      await Promise.all([announceChange(table, { rev, kind: 'service', id }), history.announce(by, change)]);
      return change;
    }

    /** A write whose answer was lost is recognised by its revision, or by the mark of whoever has replaced it since. */
    async function settle(change: AdminChange, isWritten: boolean): Promise<boolean> {
      if (!isWritten && (await read(change.id))?.rev !== change.rev && (await history.withdraw(change))) return false;
      history.write(by, change);
      return true;
    }

    /** One conditional write of the record over the revision that was read. */
    async function overwrite(
      action: AdminChange['action'],
      seen: ServiceRecord,
      next: ServiceRecord & { expires_at?: number },
      effect?: () => Promise<void>,
    ): Promise<boolean> {
      const change = await announce(action, seen, next);
      await effect?.();
      const isWritten = await table.put(
        { ...keys.service(next.service_id), ...next },
        { ConditionExpression: 'rev = :seen', ExpressionAttributeValues: { ':seen': seen.rev } },
      );
      return settle(change, isWritten);
    }

    /**
     * The namespace of a service that is replaced: the one that it has, or the first that it is given.
     * @throws ApiError FORBIDDEN if the service is not the admin's, INVALID_PARAMETER if the namespace is another one, or not that of its intents
     */
    async function chooseNamespace(seen: ServiceRecord, { namespace }: ServiceInput): Promise<string | undefined> {
      requireNamespace(by, seen.namespace);
      if (namespace === undefined || namespace === seen.namespace) return seen.namespace;
      if (seen.namespace !== undefined) {
        throw invalidParameter([
          { path: '/namespace', problem: 'must be the namespace that the service has, or be left out: it never changes' },
        ]);
      }
      const uid = await findMemberOutside(table, seen.service_id, namespace);
      if (uid === undefined) return namespace;
      throw invalidParameter([{ path: '/namespace', problem: `must be that of every intent of the service; ${uid} stands outside` }]);
    }

    return {
      /** @throws ApiError CONFLICT if the name is taken, FORBIDDEN if the namespace is not the admin's */
      async create(input: ServiceInput): Promise<ServiceRecord> {
        requireNamespace(by, input.namespace);
        const rev = newUlid();
        const serviceId = newUlid();
        const claim = await claimName(table, input.service_name, serviceId);
        const record: ServiceRecord = { kind: 'service', service_id: serviceId, ...input, rev, name_claim: claim ?? rev };
        const [change] = await Promise.all([announce('create', undefined, record), createRoster(table, serviceId)]);
        // sent again because its answer was lost, it must not undo what another admin has made of the service meanwhile
        await table.put({ ...keys.service(serviceId), ...record }, { ConditionExpression: 'attribute_not_exists(pk)' });
        history.write(by, change);
        return record;
      },

      /**
       * Puts a service back under the id that it had, without intents: what its deletion left behind is removed first. The deletion must be
       * a minute old, so that no request is still at it.
       * @returns undefined if the service is there
       * @throws ApiError CONFLICT if the name is taken
       */
      async putBack(serviceId: string, input: ServiceInput): Promise<ServiceRecord | undefined> {
        requireNamespace(by, input.namespace);
        const seen = await read(serviceId);
        if (seen && !seen.deleted_at) return undefined;
        const claim = await claimName(table, input.service_name, serviceId);
        if (claim === undefined) return undefined;
        await removeMembers(table, serviceId, Number.POSITIVE_INFINITY, history);
        const rev = newUlid();
        const emptiedAt = Date.now() - emptiedAgoMs;
        const record: ServiceRecord = { kind: 'service', service_id: serviceId, ...input, rev, name_claim: claim, emptied_at: emptiedAt };
        const [change] = await Promise.all([announce('create', seen, record), createRoster(table, serviceId)]);
        const isWritten = await table.put(
          { ...keys.service(serviceId), ...record },
          seen
            ? { ConditionExpression: 'rev = :seen', ExpressionAttributeValues: { ':seen': seen.rev } }
            : { ConditionExpression: 'attribute_not_exists(pk)' },
        );
        if (await settle(change, isWritten)) return record;
        await releaseName(table, input.service_name, claim);
        return undefined;
      },

      /**
       * Replaces a service. Its new name is claimed before the record takes it, its old one is released after.
       * @returns undefined if there is no such service
       * @throws ApiError CONFLICT if the name is taken or the writer knew another revision, FORBIDDEN if the service is not the admin's,
       * INVALID_PARAMETER if its namespace cannot be the one that is given
       */
      async replace(serviceId: string, input: ServiceInput, ifMatch: IfMatch): Promise<ServiceRecord | undefined> {
        let claimed: string | undefined;
        const giveUp = async () => claimed && releaseName(table, input.service_name, claimed);
        const check = async (seen: ServiceRecord) => {
          const namespace = await chooseNamespace(seen, input);
          if (!ifMatch(seen)) throw recordChanged();
          return namespace;
        };
        for (let attempt = 0; attempt < 10; attempt++) {
          const seen = await find(serviceId);
          if (!seen) {
            await giveUp();
            return undefined;
          }
          const namespace = await check(seen).catch(async (error: unknown) => {
            await giveUp();
            throw error;
          });
          const isRenamed = foldName(seen.service_name) !== foldName(input.service_name);
          if (isRenamed) claimed ??= await claimName(table, input.service_name, serviceId);
          if (isRenamed && !claimed) continue;
          const nameClaim = isRenamed && claimed ? claimed : seen.name_claim;
          const { credential } = seen;
          const next: ServiceRecord = {
            kind: 'service',
            service_id: serviceId,
            ...input,
            ...(namespace !== undefined && { namespace }),
            rev: newUlid(),
            name_claim: nameClaim,
            // its origins stay when the service moves: whoever changes service_url must not take the credential elsewhere
            ...(credential && { credential }),
            ...(seen.emptied_at !== undefined && { emptied_at: seen.emptied_at }),
          };
          if (!(await overwrite('update', seen, next))) continue;
          if (isRenamed) await releaseName(table, seen.service_name, seen.name_claim);
          return next;
        }
        await giveUp();
        throw recordChanged();
      },

      /**
       * Says on a service's record that it has a credential, or none if `credential` is absent. This is a change of the record like any other:
       * with a new revision, so that no writer who read the record before can undo it.
       * @param effect - what is done between the entry in the history and the record; perhaps several times
       * @returns undefined if there is no such service
       * @throws ApiError CONFLICT if the writer knew another revision, FORBIDDEN if the service is not the admin's
       */
      async setCredential(
        serviceId: string,
        credential: StoredCredential | undefined,
        ifMatch: IfMatch,
        effect: () => Promise<void> = async () => {},
      ): Promise<ServiceRecord | undefined> {
        for (let attempt = 0; attempt < 10; attempt++) {
          const seen = await find(serviceId);
          if (!seen) return undefined;
          requireNamespace(by, seen.namespace);
          if (!ifMatch(seen)) throw recordChanged();
          const { credential: previous, ...rest } = seen;
          if (!previous && !credential) {
            await effect();
            return seen;
          }
          const next: ServiceRecord = { ...rest, rev: newUlid(), ...(credential && { credential }) };
          if (await overwrite('credential', seen, next, effect)) return next;
        }
        throw recordChanged();
      },

      /**
       * Deletes a service: from its tombstone on, none of its intents is live; then they are removed, and its name is free.
       * A deletion that was cut short is finished by the next one.
       * @param untilMs - when to leave the removal of dead intents to the next deletion, in milliseconds since the epoch
       * @returns whether there was such a service
       * @throws ApiError CONFLICT if the writer knew another revision, FORBIDDEN if the service is not the admin's
       */
      async remove(serviceId: string, ifMatch: IfMatch, untilMs = Number.POSITIVE_INFINITY): Promise<boolean> {
        for (let attempt = 0; attempt < 10; attempt++) {
          const seen = await read(serviceId);
          if (!seen) return false;
          requireNamespace(by, seen.namespace);
          if (!seen.deleted_at) {
            if (!ifMatch(seen)) throw recordChanged();
            const now = Date.now();
            const expiresAt = Math.floor(now / 1000) + history.tombstoneLifeSeconds;
            const tombstone = { ...seen, rev: newUlid(), deleted_at: now, expires_at: expiresAt };
            if (!(await overwrite('delete', seen, tombstone))) continue;
          }
          await Promise.all([removeMembers(table, serviceId, untilMs, history), releaseName(table, seen.service_name, seen.name_claim)]);
          return !seen.deleted_at;
        }
        throw recordChanged();
      },
    };
  }

  return { find, as: changesBy, ...changesBy(operator) };
}

export type Services = ReturnType<typeof openServices>;
