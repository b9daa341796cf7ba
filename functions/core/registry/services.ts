import type { LoggedChange } from '../../../schemas/changes.ts';
import type { StoredCredential } from '../../../schemas/credential.ts';
import { splitIntentUid } from '../../../schemas/intent-uid.ts';
import { type ServiceInput, toService } from '../../../schemas/service.ts';
import { type Admin, operator, requireNamespace } from '../admin/admin.ts';
import { ApiError, invalidParameter } from '../runtime/api-error.ts';
import { isUlid, newUlid } from '../runtime/ulid.ts';
import type { Condition } from '../table/expression.ts';
import { keys } from '../table/keys.ts';
import type { Item, Table, Write } from '../table/table.ts';
import { type ChangeLog, noChange, openChangeLog, type Planned, type Read } from './change-log.ts';
import { allPages, removeLeftovers } from './lists.ts';
import { digestOf, type RecordVersions } from './log.ts';
import { countInNamespace, defaultMaxPerNamespace, namespaceKeys } from './namespaces.ts';
import { findService, type ServiceItem, type ServiceRecord, toServiceRecord } from './records.ts';
import { recordChanged } from './refusals.ts';

/** Whether `If-Match`, if present, matches the record. */
export type IfMatch = (record: ServiceRecord) => boolean;

/** Digests for the log; the credential's excludes when it was set and by whom. */
const definitionDigest = (record: ServiceRecord): string => digestOf(toService(record));
const credentialDigest = ({ credential }: ServiceRecord): string | undefined =>
  credential && digestOf(Object.fromEntries(Object.entries(credential).filter(([name]) => !name.startsWith('set_'))));

/** An object without its undefined members. */
const withoutUndefined = <T extends object>(members: T): T =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;

const changed = (action: LoggedChange['action'], id: string, digest_before?: string, digest_after?: string): LoggedChange =>
  withoutUndefined({ kind: 'service' as const, id, action, digest_before, digest_after }) as LoggedChange;

const versions = (service_id: string, before: ServiceRecord, after?: ServiceRecord): RecordVersions[] => [
  { kind: 'service', id: service_id, service_id, before: toService(before), ...(after && { after: toService(after) }) },
];

const nameTaken = (serviceId: string) =>
  new ApiError(
    'CONFLICT',
    'Another service has this name (letter case and surrounding white space do not count). Choose another service_name.',
    { details: { issues: [{ path: '/service_name', problem: 'must be unique' }], service_id: serviceId } },
  );

/** Holds while the service is unchanged, including its counts, which change without its revision. */
const isUnchanged = (seen: ServiceRecord): Condition[] => (['rev', 'intents', 'drafts'] as const).map((name) => ['=', name, seen[name]]);

const putService = (record: ServiceRecord, seen: ServiceRecord | undefined): Write => ({
  put: { ...keys.service(record.service_id), ...record },
  when: seen ? isUnchanged(seen) : [['absent', 'pk']],
});

const putName = (name: string, serviceId: string): Write => ({
  put: { ...keys.serviceName(name), service_id: serviceId },
  when: [['absent', 'pk']],
});

const deleteName = (name: string, serviceId: string): Write => ({
  delete: keys.serviceName(name),
  when: [['=', 'service_id', serviceId]],
});

/** Services. Changes without `as` are attributed to operators' programs. */
export function openServices(
  table: Table,
  changeLog: Pick<ChangeLog, 'change'> = openChangeLog(table),
  mostPerNamespace: number = defaultMaxPerNamespace,
) {
  /**
   * Changes by an admin, each in one transaction. They throw ApiError FORBIDDEN outside of the admin's namespaces, and CONFLICT if the writer has read
   * another revision.
   */
  function changesBy(by: Admin) {
    async function changeKnown<T>(
      serviceId: string,
      ifMatch: IfMatch,
      plan: (seen: ServiceRecord, read: Read) => Promise<Planned<T>>,
    ): Promise<T | undefined> {
      if (!isUlid(serviceId)) return undefined;
      return changeLog.change<T | undefined>(by, async (read) => {
        const [item] = await read<ServiceItem>([keys.service(serviceId)]);
        if (!item) return noChange(undefined);
        const seen = toServiceRecord(item);
        requireNamespace(by, seen.namespace);
        if (!ifMatch(seen)) throw recordChanged();
        return plan(seen, read);
      });
    }

    async function create(input: ServiceInput): Promise<ServiceRecord> {
      const { namespace } = input;
      requireNamespace(by, namespace);
      const serviceId = newUlid();
      return changeLog.change<ServiceRecord>(by, async (read) => {
        const [name, counted] = await read<Item>([keys.serviceName(input.service_name), ...namespaceKeys(namespace)]);
        if (name) throw nameTaken(String(name.service_id));
        const toRecord = (rev: number): ServiceRecord =>
          withoutUndefined({ kind: 'service' as const, service_id: serviceId, ...input, rev, intents: 0, drafts: 0 });
        const inNamespace = countInNamespace(namespace, counted, { services: 1 }, mostPerNamespace);
        return {
          result: toRecord,
          changes: [changed('create', serviceId, undefined, definitionDigest(toRecord(0)))],
          namespace,
          writes: (rev) => [putService(toRecord(rev), undefined), putName(input.service_name, serviceId), ...inNamespace],
        };
      });
    }

    /**
     * The namespace of a replaced service: the one that it has or, if it has none, the given one.
     * @throws ApiError INVALID_PARAMETER if the service or one of its intents has another namespace
     */
    async function chooseNamespace(seen: ServiceRecord, { namespace }: ServiceInput): Promise<string | undefined> {
      if (namespace === undefined || namespace === seen.namespace) return seen.namespace;
      if (seen.namespace !== undefined) {
        throw invalidParameter([
          { path: '/namespace', problem: 'must be the namespace that the service has, or be left out: it never changes' },
        ]);
      }
      for await (const entries of allPages(table, seen.service_id)) {
        const outside = entries.find(({ intent_uid }) => splitIntentUid(intent_uid).namespace !== namespace);
        if (!outside) continue;
        const problem = `must be the namespace of every intent of the service; ${outside.intent_uid} has another one`;
        throw invalidParameter([{ path: '/namespace', problem }]);
      }
      return namespace;
    }

    return {
      /** @throws ApiError CONFLICT if the name is taken or the namespace is full */
      create,

      /**
       * Replaces a service.
       * @returns undefined if there is no such service
       * @throws ApiError CONFLICT if the name is taken, INVALID_PARAMETER if the namespace cannot be changed
       */
      replace: (serviceId: string, input: ServiceInput, ifMatch: IfMatch): Promise<ServiceRecord | undefined> =>
        changeKnown(serviceId, ifMatch, async (seen, read) => {
          const namespace = await chooseNamespace(seen, input);
          const isMoved = namespace !== seen.namespace;
          const isRenamed = keys.serviceName(input.service_name).sk !== keys.serviceName(seen.service_name).sk;
          const [name, counted] = await read<Item>([keys.serviceName(input.service_name), ...namespaceKeys(namespace)]);
          if (name && name.service_id !== serviceId) throw nameTaken(String(name.service_id));
          const { credential, intents, drafts } = seen;
          // the credential's origins stay: a change of service_url must not send it elsewhere
          const toRecord = (rev: number): ServiceRecord =>
            withoutUndefined({
              kind: 'service' as const,
              service_id: serviceId,
              ...input,
              namespace,
              rev,
              credential,
              intents,
              drafts,
            }) as ServiceRecord;
          const growth = { services: 1, intents: intents + drafts };
          const inNamespace = isMoved ? countInNamespace(namespace, counted, growth, mostPerNamespace) : [];
          return {
            result: toRecord,
            changes: [changed('update', serviceId, definitionDigest(seen), definitionDigest(toRecord(0)))],
            versions: versions(serviceId, seen, toRecord(0)),
            namespace,
            writes: (rev) => [
              putService(toRecord(rev), seen),
              ...(isRenamed ? [putName(input.service_name, serviceId), deleteName(seen.service_name, serviceId)] : []),
              ...inNamespace,
            ],
          };
        }),

      /**
       * Sets or removes the credential in a service's record. This changes the record's revision, so that a writer who has read an earlier one cannot
       * undo it.
       * @param effect - runs before the record is written, perhaps several times
       * @returns undefined if there is no such service; `hadClient`: one of the records that have been read meanwhile had an OAuth client
       */
      async setCredential(
        serviceId: string,
        credential: StoredCredential | undefined,
        ifMatch: IfMatch,
        effect: () => Promise<void> = async () => {},
      ): Promise<{ service: ServiceRecord; hadClient: boolean } | undefined> {
        let hadClient = false;
        const service = await changeKnown(serviceId, ifMatch, async (seen) => {
          await effect();
          hadClient ||= seen.credential?.oauth !== undefined;
          if (!seen.credential && !credential) return noChange<ServiceRecord>(seen);
          const toRecord = (rev: number): ServiceRecord => withoutUndefined({ ...seen, rev, credential }) as ServiceRecord;
          return {
            result: toRecord,
            changes: [changed('credential', serviceId, credentialDigest(seen), credentialDigest(toRecord(0)))],
            namespace: seen.namespace,
            writes: (rev) => [putService(toRecord(rev), seen)],
          };
        });
        return service && { service, hadClient };
      },

      /**
       * Deletes a service. Its intents cannot be found without it; they are removed afterwards, by this call or the next attempt to delete it.
       * @param untilMs - when to leave the rest to the next attempt, in milliseconds since the epoch
       * @returns whether the service existed
       */
      async remove(serviceId: string, ifMatch: IfMatch, untilMs = Number.POSITIVE_INFINITY): Promise<boolean> {
        const isRemoved = await changeKnown(serviceId, ifMatch, async (seen, read) => {
          const [counted] = await read<Item>(namespaceKeys(seen.namespace));
          const growth = { services: -1, intents: -(seen.intents + seen.drafts) };
          return {
            result: () => true,
            changes: [changed('delete', serviceId, definitionDigest(seen))],
            versions: versions(serviceId, seen),
            namespace: seen.namespace,
            writes: () => [
              { delete: keys.service(serviceId), when: isUnchanged(seen) },
              deleteName(seen.service_name, serviceId),
              ...countInNamespace(seen.namespace, counted, growth, mostPerNamespace),
            ],
          };
        });
        if (isUlid(serviceId)) await removeLeftovers(table, serviceId, untilMs);
        return isRemoved ?? false;
      },
    };
  }

  return { find: (serviceId: string) => findService(table, serviceId), as: changesBy, ...changesBy(operator) };
}

export type Services = ReturnType<typeof openServices>;
