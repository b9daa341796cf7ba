import QuickLRU from 'quick-lru';
import type { IntentInput } from '../../../schemas/intent.ts';
import { digestIntent } from '../../../schemas/intent-digest.ts';
import { compareVersions, isIntentUid, splitIntentUid } from '../../../schemas/intent-uid.ts';
import { parseExact } from '../../../schemas/number.ts';
import { readStanding, type Standing, standingKeys } from '../activity/agent.ts';
import { type Admin, operator, requireIntentNamespace } from '../admin/admin.ts';
import { ApiError } from '../api-error.ts';
import { type Key, keys } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { isUlid, newUlid } from '../ulid.ts';
import { announceChange } from './changes.ts';
import { type AdminChange, digestOf, type History, openHistory } from './history.ts';
import { type IntentItem, isLive, toIntentItem, toIntentRecord } from './intent-item.ts';
import {
  createRoster,
  type ListedIntent,
  listMembers,
  listOf,
  markMember,
  markOnRoster,
  readSlot,
  removeMember,
  settleMember,
  settleOnRoster,
} from './members.ts';
import type { IntentRecord, ServiceRecord } from './records.ts';
import { intentChanged, recordChanged } from './refusals.ts';

/** An intent is live when its own record and its service's record are. */
export interface LiveIntent {
  intent: IntentRecord;
  service: ServiceRecord;
}

/** The entity tag of one view of an intent: it changes with the intent and with its service, whose name it shows. */
export const intentTag = ({ intent, service }: LiveIntent, view: 'details' | 'full'): string => `"${intent.rev}.${service.rev}.${view}"`;

/** The refusal of a request that was written for another state of the intent: its `If-Match` holds neither the digest nor an entity tag. */
export function findMismatch(
  request: { header(name: string): string | undefined; ifMatch(...etags: string[]): boolean },
  live: LiveIntent,
): ApiError | undefined {
  const digest = digestIntent(live.intent);
  if (request.ifMatch(`"${digest}"`, intentTag(live, 'details'), intentTag(live, 'full'))) return undefined;
  return intentChanged(request.header('if-match')?.trim().replace(/^"|"$/g, '') ?? '', digest);
}

const uidTaken = () =>
  new ApiError('CONFLICT', 'An intent with this intent_uid exists. Update that one, or choose another slug or version.', {
    details: { issues: [{ path: '/intent_uid', problem: 'must be unique' }] },
  });

/** Intents. Reads see only live ones, and drafts only where they say so. Without {@link as}, changes are those of the operators' programs. */
export function openIntents(table: Table, history: History = openHistory(table)) {
  /** Which service an intent was last seen in: lets a read ask for both records at once. What it says is always checked. */
  const lastService = new QuickLRU<string, string>({ maxSize: 10_000 });

  /** The intent and its service, and the items of `others`, in one round trip if the service is known. */
  async function findWith(uid: string, others: Key[]): Promise<{ found: LiveIntent | undefined; others: (Item | undefined)[] }> {
    const guess = lastService.get(uid);
    const [item, ...rest] = await table.getAll([keys.intent(uid), ...others, ...(guess ? [keys.service(guess)] : [])]);
    const read = { found: undefined, others: rest.slice(0, others.length) };
    const intent = item as IntentItem | undefined;
    if (!isLive(intent)) return read;
    const service = intent.service_id === guess ? rest.at(-1) : await table.get(keys.service(intent.service_id));
    lastService.set(uid, intent.service_id);
    if (!isLive(service)) return read;
    return { ...read, found: { intent: toIntentRecord(intent), service: service as ServiceRecord & Item } };
  }

  const find = async (uid: string): Promise<LiveIntent | undefined> => (isIntentUid(uid) ? (await findWith(uid, [])).found : undefined);

  /** Whether an intent that was read is what still stands, after what was read since. */
  const isCurrent = async ({ intent_uid, rev }: IntentRecord): Promise<boolean> =>
    (await table.get<IntentItem>(keys.intent(intent_uid)))?.rev === rev;

  /** The changes that an admin makes. Each leaves one entry in the history, and is refused outside of the admin's namespaces. */
  function changesBy(by: Admin) {
    /** Says that a record is about to be written over what was seen. */
    async function announce(
      action: AdminChange['action'],
      seen: { rev: string; digest?: string } | undefined,
      { rev, intent_uid: id, definition }: IntentItem,
      service: Pick<ServiceRecord, 'namespace'>,
    ): Promise<AdminChange> {
      const change: AdminChange = {
        rev,
        kind: 'intent',
        id,
        action,
        namespace: service.namespace,
        before_rev: seen?.rev,
        digest_before: seen?.digest,
        digest_after: definition === undefined ? undefined : digestOf(parseExact(definition)),
      };
      await Promise.all([announceChange(table, { rev, kind: 'intent', id }), history.announce(by, change)]);
      return change;
    }

    /**
     * One conditional write over what was read. A write whose answer was lost is recognised by its revision, or by the mark of whoever has replaced it.
     * @param isMarked - on the rosters of the lists that it changes; without that nothing is written
     */
    async function overwrite(change: AdminChange, item: Key & IntentItem, isMarked: boolean): Promise<boolean> {
      if (!isMarked) {
        await history.withdraw(change);
        return false;
      }
      const isWritten = await table.put(
        item,
        change.before_rev === undefined
          ? { ConditionExpression: 'attribute_not_exists(pk)' }
          : { ConditionExpression: 'rev = :seen', ExpressionAttributeValues: { ':seen': change.before_rev } },
      );
      if (isWritten || (await table.get<IntentItem>(keys.intent(item.intent_uid)))?.rev === item.rev) return true;
      return !(await history.withdraw(change));
    }

    return {
      /**
       * @param check - throws if the intent does not suit its service
       * @returns undefined if there is no such service
       * @throws ApiError CONFLICT if the uid is taken, FORBIDDEN if the service is not the admin's or has another namespace
       */
      async create(
        serviceId: string,
        input: IntentInput,
        check: (service: ServiceRecord) => void = () => {},
      ): Promise<IntentRecord | undefined> {
        if (!isUlid(serviceId)) return undefined;
        for (let attempt = 0; attempt < 10; attempt++) {
          const list = listOf(serviceId, input.draft);
          const slot = await readSlot(table, list, input.intent_uid);
          const [service, seen] = await table.getAll<Item>([keys.service(serviceId), keys.intent(input.intent_uid)]);
          if (!isLive(service)) return undefined;
          requireIntentNamespace(by, service, input.intent_uid);
          check(service as ServiceRecord & Item);
          if (isLive(seen) && isLive(await table.get(keys.service(String(seen.service_id))))) throw uidTaken();

          const rev = newUlid();
          const item = toIntentItem(input, serviceId, rev);
          if (input.draft) await createRoster(table, list);
          const [change, isMarked] = await Promise.all([
            announce('create', seen && { rev: String(seen.rev) }, item, service),
            markOnRoster(table, list, input.intent_uid, rev, 'joins', input.draft ? { ...slot, isMissing: false } : slot),
            markMember(table, list, input.intent_uid, rev),
          ]);
          // what stands there now may be as dead as what was seen
          if (!(await overwrite(change, item, isMarked))) continue;

          const [serviceNow] = await Promise.all([
            table.get<ServiceRecord & Item>(keys.service(serviceId)),
            settleMember(table, list, rev, input),
            settleOnRoster(table, list, input.intent_uid, rev, 'joined', slot),
          ]);
          if (isLive(serviceNow)) {
            history.write(by, change);
            return toIntentRecord(item);
          }
          await table.delete(keys.intent(input.intent_uid), {
            ConditionExpression: 'rev = :mine',
            ExpressionAttributeValues: { ':mine': rev },
          });
          await removeMember(table, list, input.intent_uid, rev);
          await history.withdraw(change);
          return undefined;
        }
        throw uidTaken();
      },

      /**
       * Replaces an intent. One that becomes a draft, or ceases to be one, changes from one of its service's lists to the other.
       * @returns undefined if there is no such intent
       * @throws ApiError CONFLICT if the writer knew another revision, FORBIDDEN if it is not the admin's
       */
      async replace(uid: string, input: IntentInput, ifMatch: (found: LiveIntent) => boolean): Promise<LiveIntent | undefined> {
        for (let attempt = 0; attempt < 10; attempt++) {
          const found = await find(uid);
          if (!found) return undefined;
          const { intent, service } = found;
          requireIntentNamespace(by, service, uid);
          if (!ifMatch(found)) throw recordChanged();
          const rev = newUlid();
          const item = toIntentItem(input, intent.service_id, rev);
          const [left, list] = [listOf(intent.service_id, intent.draft), listOf(intent.service_id, input.draft)];
          const isMoved = left !== list;
          if (isMoved && input.draft) await createRoster(table, list);
          const [joining, leaving] = isMoved ? await Promise.all([list, left].map((one) => readSlot(table, one, uid))) : [];
          if (isMoved && !(await isCurrent(intent))) continue;
          const [change, ...marks] = await Promise.all([
            announce('update', { rev: intent.rev, digest: digestOf(toDefinition(intent)) }, item, service),
            ...(joining ? [markOnRoster(table, list, uid, rev, 'joins', joining)] : []),
            ...(leaving ? [markOnRoster(table, left, uid, rev, 'leaves', leaving)] : []),
            markMember(table, list, uid, rev),
            ...(isMoved ? [markMember(table, left, uid, rev)] : []),
          ]);
          if (!(await overwrite(change, item, !marks.includes(false)))) continue;
          history.write(by, change);
          await Promise.all([
            settleMember(table, list, rev, input),
            ...(joining ? [settleOnRoster(table, list, uid, rev, 'joined', joining)] : []),
            ...(leaving ? [removeMember(table, left, uid, rev), settleOnRoster(table, left, uid, rev, 'left', leaving)] : []),
          ]);
          return { intent: toIntentRecord(item), service };
        }
        throw recordChanged();
      },

      /**
       * @returns whether there was such an intent
       * @throws ApiError CONFLICT if the writer knew another revision, FORBIDDEN if it is not the admin's
       */
      async remove(uid: string, ifMatch: (found: LiveIntent) => boolean): Promise<boolean> {
        for (let attempt = 0; attempt < 10; attempt++) {
          const found = await find(uid);
          if (!found) return false;
          const { intent, service } = found;
          requireIntentNamespace(by, service, uid);
          if (!ifMatch(found)) throw recordChanged();
          const { service_id } = intent;
          const now = Date.now();
          const rev = newUlid();
          const list = listOf(service_id, intent.draft);
          const slot = await readSlot(table, list, uid);
          if (!(await isCurrent(intent))) continue;
          const tombstone = {
            ...keys.intent(uid),
            kind: 'intent' as const,
            intent_uid: uid,
            service_id,
            rev,
            deleted_at: now,
            expires_at: Math.floor(now / 1000) + history.tombstoneLifeSeconds,
          };
          const [change, isMarked] = await Promise.all([
            announce('delete', { rev: intent.rev, digest: digestOf(toDefinition(intent)) }, tombstone, service),
            markOnRoster(table, list, uid, rev, 'leaves', slot),
            markMember(table, list, uid, rev),
          ]);
          if (!(await overwrite(change, tombstone, isMarked))) continue;
          history.write(by, change);
          await Promise.all([removeMember(table, list, uid, rev), settleOnRoster(table, list, uid, rev, 'left', slot)]);
          return true;
        }
        throw recordChanged();
      },
    };
  }

  return {
    find,
    as: changesBy,
    ...changesBy(operator),

    /** The intent, and the agent and its key that want to execute it, in one round trip. */
    async findForAgent(uid: string, agentId: string, thumbprint: string): Promise<{ found: LiveIntent | undefined; standing: Standing }> {
      const { found, others } = await findWith(uid, standingKeys(agentId, thumbprint));
      return { found, standing: readStanding(others) };
    },

    /** Every live version of the uid's namespace and slug, oldest first, without drafts. */
    async versions(uid: string): Promise<IntentRecord[]> {
      const { items } = await table.query<IntentItem>(keys.intent(uid).pk);
      const candidates = items.filter(isLive);
      if (candidates.length === 0) return [];
      const services = await table.getAll<ServiceRecord & Item>(candidates.map(({ service_id }) => keys.service(service_id)));
      return candidates
        .filter((_, index) => isLive(services[index]))
        .map(toIntentRecord)
        .filter(isPublic)
        .sort((a, b) => compareVersions(splitIntentUid(a.intent_uid).version, splitIntentUid(b.intent_uid).version));
    },

    /**
     * A page of a service's intents in uid order, as lists show them, and how many there are.
     * @param from - index of the first one, or the uid that it comes after
     * @param isWithDrafts - lists drafts as well
     * @throws ApiError INVALID_PARAMETER if the page is far from both ends of the list and named by its index
     */
    list: (
      serviceId: string,
      from: number | string,
      count: number,
      isWithDrafts = false,
    ): Promise<{ intents: ListedIntent[]; total: number }> =>
      listMembers(table, [listOf(serviceId, false), ...(isWithDrafts ? [listOf(serviceId, true)] : [])], from, count),

    /** The live intents among some of a service's, in their order, without drafts. */
    async read(uids: readonly string[]): Promise<IntentRecord[]> {
      const items = await table.getAll<IntentItem>(uids.map(keys.intent));
      return items.filter(isLive).map(toIntentRecord).filter(isPublic);
    },
  };
}

/** Whether agents may see an intent. */
const isPublic = ({ draft }: Pick<IntentRecord, 'draft'>): boolean => !draft;

/** The members that an intent was registered with. */
function toDefinition({ kind, service_id, rev, deleted_at, ...definition }: IntentRecord): IntentInput {
  return definition;
}

export type Intents = ReturnType<typeof openIntents>;
