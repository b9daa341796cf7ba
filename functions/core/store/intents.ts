import QuickLRU from 'quick-lru';
import type { IntentInput } from '../../../schemas/intent.ts';
import { compareVersions, isIntentUid, splitIntentUid } from '../../../schemas/intent-uid.ts';
import { ApiError } from '../api-error.ts';
import { isUlid, newUlid } from '../ulid.ts';
import type { AgentItem } from './agent.ts';
import { announceChange } from './changes.ts';
import { type IntentItem, isLive, toIntentItem, toIntentRecord } from './intent-item.ts';
import { type Key, keys } from './keys.ts';
import { type ListedIntent, listMembers, markMember, markOnRoster, removeMember, settleMember, settleOnRoster } from './members.ts';
import type { IntentRecord, ServiceRecord } from './records.ts';
import { recordChanged } from './refusals.ts';
import { tombstoneLifeSeconds } from './services.ts';
import type { Item, Table } from './table.ts';

/** An intent is live when its own record and its service's record are. */
export interface LiveIntent {
  intent: IntentRecord;
  service: ServiceRecord;
}

/** The entity tag of one view of an intent: it changes with the intent and with its service, whose name it shows. */
export const intentTag = ({ intent, service }: LiveIntent, view: 'details' | 'full'): string => `"${intent.rev}.${service.rev}.${view}"`;

const uidTaken = () =>
  new ApiError('CONFLICT', 'An intent with this intent_uid exists. Update that one, or choose another slug or version.', {
    details: { issues: [{ path: '/intent_uid', problem: 'must be unique' }] },
  });

/** Intents. Reads see only live ones. */
export function openIntents(table: Table) {
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

  /** One conditional write over what was read. A write whose answer was lost is recognised by its revision. */
  async function overwrite(seenRev: string | undefined, item: Key & IntentItem): Promise<boolean> {
    const isWritten = await table.put(
      item,
      seenRev === undefined
        ? { ConditionExpression: 'attribute_not_exists(pk)' }
        : { ConditionExpression: 'rev = :seen', ExpressionAttributeValues: { ':seen': seenRev } },
    );
    return isWritten || (await table.get<IntentItem>(keys.intent(item.intent_uid)))?.rev === item.rev;
  }

  return {
    find,

    /** The intent, and the agent that wants to execute it, in one round trip. */
    async findForAgent(uid: string, agentId: string): Promise<{ found: LiveIntent | undefined; agent: AgentItem | undefined }> {
      const { found, others } = await findWith(uid, [keys.agent(agentId)]);
      return { found, agent: others[0] as AgentItem | undefined };
    },

    /** Every live version of the uid's namespace and slug, oldest first. */
    async versions(uid: string): Promise<IntentRecord[]> {
      const { items } = await table.query<IntentItem>(keys.intent(uid).pk);
      const candidates = items.filter(isLive);
      if (candidates.length === 0) return [];
      const services = await table.getAll<ServiceRecord & Item>(candidates.map(({ service_id }) => keys.service(service_id)));
      return candidates
        .filter((_, index) => isLive(services[index]))
        .map(toIntentRecord)
        .sort((a, b) => compareVersions(splitIntentUid(a.intent_uid).version, splitIntentUid(b.intent_uid).version));
    },

    /**
     * A page of a service's intents in uid order, as lists show them, and how many there are.
     * @param from - index of the first one, or the uid that it comes after
     * @throws ApiError INVALID_PARAMETER if the page is far from both ends of the list and named by its index
     */
    list: (serviceId: string, from: number | string, count: number): Promise<{ intents: ListedIntent[]; total: number }> =>
      listMembers(table, serviceId, from, count),

    /** The live intents among some of a service's, in their order. */
    async read(uids: readonly string[]): Promise<IntentRecord[]> {
      const items = uids.length > 0 ? await table.getAll<IntentItem>(uids.map(keys.intent)) : [];
      return items.filter(isLive).map(toIntentRecord);
    },

    /**
     * @param check - throws if the intent does not suit its service
     * @returns undefined if there is no such service
     * @throws ApiError CONFLICT if the uid is taken
     */
    async create(
      serviceId: string,
      input: IntentInput,
      check: (service: ServiceRecord) => void = () => {},
    ): Promise<IntentRecord | undefined> {
      if (!isUlid(serviceId)) return undefined;
      const [service, seen] = await table.getAll<Item>([keys.service(serviceId), keys.intent(input.intent_uid)]);
      if (!isLive(service)) return undefined;
      check(service as ServiceRecord & Item);
      if (isLive(seen) && isLive(await table.get(keys.service(String(seen.service_id))))) throw uidTaken();

      const rev = newUlid();
      const item = toIntentItem(input, serviceId, rev);
      await Promise.all([
        announceChange(table, { rev, kind: 'intent', id: input.intent_uid }),
        markMember(table, serviceId, input.intent_uid, rev),
        markOnRoster(table, serviceId, input.intent_uid, rev, 'joins'),
      ]);
      if (!(await overwrite(seen?.rev as string | undefined, item))) throw uidTaken();

      const [serviceNow] = await Promise.all([
        table.get(keys.service(serviceId)),
        settleMember(table, serviceId, rev, input),
        settleOnRoster(table, serviceId, input.intent_uid, rev, 'joined'),
      ]);
      if (isLive(serviceNow)) return toIntentRecord(item);
      await table.delete(keys.intent(input.intent_uid), {
        ConditionExpression: 'rev = :mine',
        ExpressionAttributeValues: { ':mine': rev },
      });
      await removeMember(table, serviceId, input.intent_uid, rev);
      return undefined;
    },

    /**
     * @returns undefined if there is no such intent
     * @throws ApiError CONFLICT if the writer knew another revision
     */
    async replace(uid: string, input: IntentInput, ifMatch: (found: LiveIntent) => boolean): Promise<LiveIntent | undefined> {
      for (let attempt = 0; attempt < 10; attempt++) {
        const found = await find(uid);
        if (!found) return undefined;
        if (!ifMatch(found)) throw recordChanged();
        const rev = newUlid();
        const { service_id: serviceId, rev: seenRev } = found.intent;
        await Promise.all([announceChange(table, { rev, kind: 'intent', id: uid }), markMember(table, serviceId, uid, rev)]);
        const item = toIntentItem(input, serviceId, rev);
        if (!(await overwrite(seenRev, item))) continue;
        await settleMember(table, serviceId, rev, input);
        return { intent: toIntentRecord(item), service: found.service };
      }
      throw recordChanged();
    },

    /**
     * @returns whether there was such an intent
     * @throws ApiError CONFLICT if the writer knew another revision
     */
    async remove(uid: string, ifMatch: (found: LiveIntent) => boolean): Promise<boolean> {
      for (let attempt = 0; attempt < 10; attempt++) {
        const found = await find(uid);
        if (!found) return false;
        if (!ifMatch(found)) throw recordChanged();
        const { service_id, rev: seenRev } = found.intent;
        const now = Date.now();
        const rev = newUlid();
        await Promise.all([
          announceChange(table, { rev, kind: 'intent', id: uid }),
          markMember(table, service_id, uid, rev),
          markOnRoster(table, service_id, uid, rev, 'leaves'),
        ]);
        const tombstone = { ...keys.intent(uid), kind: 'intent' as const, intent_uid: uid, service_id, rev, deleted_at: now };
        if (!(await overwrite(seenRev, { ...tombstone, expires_at: Math.floor(now / 1000) + tombstoneLifeSeconds }))) continue;
        await Promise.all([removeMember(table, service_id, uid, rev), settleOnRoster(table, service_id, uid, rev, 'left')]);
        return true;
      }
      throw recordChanged();
    },
  };
}

export type Intents = ReturnType<typeof openIntents>;
