import { createHash } from 'node:crypto';
import type { IntentInput } from '../../../schemas/intent.ts';
import { splitIntentUid } from '../../../schemas/intent-uid.ts';
import { ApiError } from '../api-error.ts';
import { type Key, keys, partitions } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import type { History } from './history.ts';
import { type IntentItem, isLive, toIntentRecord } from './intent-item.ts';

/** What a list shows of an intent. */
export type ListedIntent = Pick<IntentInput, 'intent_uid' | 'intent_name' | 'description' | 'tags' | 'deprecated' | 'draft'>;

/**
 * A pointer from a service to one of its intents. It carries what a list shows, so that a list reads neither the records nor the partitions
 * that executions read. A pointer is `pending` while its intent is being written: only then does a reader have to look at the record, or if an
 * earlier release has written the pointer, which knows nothing of `deprecated`.
 */
interface Member extends Key, Partial<ListedIntent>, Item {
  intent_uid: string;
  rev: string;
  pending?: true;
  /** the revision whose `deprecated` the pointer carries */
  deprecated_of?: string;
}

/** How many members a service has, besides those that are about to join or leave it: those count if their records are live. */
interface Roster extends Item {
  members: number;
  /** revisions that are about to be written, by uid */
  pending: Record<string, string>;
}

/**
 * The name of one of a service's two lists: its intents, and its drafts, which only admins see. Each has its pointers and its roster, so that
 * the one is counted and paged without the other. An intent is in one of them.
 */
export const listOf = (serviceId: string, isDraft: boolean | undefined): string => (isDraft ? `${serviceId}${draftsSuffix}` : serviceId);

const draftsSuffix = '#drafts';

const listsOf = (serviceId: string): string[] => [listOf(serviceId, false), listOf(serviceId, true)];

/** Begins the roster of a list, if it has none: that of a service before the service's record, that of its drafts before the first one. */
export async function createRoster(table: Table, list: string): Promise<void> {
  await table.put({ ...keys.roster(list), members: 0, pending: {} }, { ConditionExpression: 'attribute_not_exists(pk)' });
}

/** Says that the record of an intent is about to be written as revision `rev`: marks its pointer, before the record. */
export async function markMember(table: Table, list: string, intentUid: string, rev: string): Promise<void> {
  await table.update(keys.member(list, intentUid), {
    UpdateExpression: 'SET intent_uid = :uid, rev = :rev, pending = :pending',
    ExpressionAttributeValues: { ':uid': intentUid, ':rev': rev, ':pending': true },
  });
}

/** The record has been written: the pointer shows it. Nothing happens if another writer has marked the pointer since. */
export async function settleMember(table: Table, list: string, rev: string, intent: ListedIntent): Promise<void> {
  const { intent_uid, intent_name, description, tags = [], deprecated = false } = intent;
  await table.update(keys.member(list, intent_uid), {
    UpdateExpression:
      'SET intent_name = :name, #description = :description, tags = :tags, deprecated = :deprecated, deprecated_of = :mine REMOVE pending',
    ConditionExpression: 'rev = :mine',
    ExpressionAttributeNames: { '#description': 'description' },
    ExpressionAttributeValues: {
      ':mine': rev,
      ':name': intent_name,
      ':description': description,
      ':tags': tags,
      ':deprecated': deprecated,
    },
  });
}

/** The record has been deleted. Nothing happens if another writer has marked the pointer since. */
export async function removeMember(table: Table, list: string, intentUid: string, rev: string): Promise<void> {
  const isMine = { ConditionExpression: 'rev = :mine', ExpressionAttributeValues: { ':mine': rev } };
  await table.delete(keys.member(list, intentUid), isMine);
}

/** What a roster says of an intent: the last change among those that share its slot. */
export interface Slot {
  name: string;
  rev: string | undefined;
  /** the list has no roster */
  isMissing: boolean;
}

/** How many slots a roster has: changes of two intents in one slot at once may have to be tried again. */
const slots = 64;

/**
 * What the roster of a list says of an intent. Whoever is about to mark the intent on the roster reads this before the record: then what the
 * record says is what the roster counts, as long as the slot is the same.
 */
export async function readSlot(table: Table, list: string, intentUid: string): Promise<Slot> {
  const roster = await table.get<Roster>(keys.roster(list));
  const name = `slot${createHash('sha256').update(intentUid).digest().readUInt16BE() % slots}`;
  return { name, rev: roster?.[name] as string | undefined, isMissing: roster === undefined };
}

/**
 * Says that an intent is about to join a service or to leave it. From now on it counts if its record is live, until somebody settles the
 * matter; who marks it again takes the duty over. Each step recognises itself, so one whose answer was lost may be sent again.
 * @param seen - of the roster, before the record was read
 * @returns false if the intent may have joined or left since, so that the record has to be read again
 */
export async function markOnRoster(
  table: Table,
  list: string,
  intentUid: string,
  rev: string,
  step: 'joins' | 'leaves',
  seen: Slot,
): Promise<boolean> {
  if (seen.isMissing) return true;
  const key = keys.roster(list);
  const names = { '#uid': intentUid, '#pending': 'pending' };
  const isSame = seen.rev === undefined ? 'attribute_not_exists(#slot)' : '#slot = :seen';
  const isMarked = await table.update(key, {
    UpdateExpression: `SET #pending.#uid = :rev${step === 'leaves' ? ', #slot = :rev, members = members - :one' : ''}`,
    ConditionExpression: `attribute_exists(members) AND attribute_not_exists(#pending.#uid) AND ${isSame}`,
    ExpressionAttributeNames: { ...names, '#slot': seen.name },
    ExpressionAttributeValues: {
      ':rev': rev,
      ...(step === 'leaves' && { ':one': 1 }),
      ...(seen.rev !== undefined && { ':seen': seen.rev }),
    },
  });
  if (isMarked) return true;
  const isTakenOver = await table.update(key, {
    UpdateExpression: 'SET #pending.#uid = :rev',
    ConditionExpression: 'attribute_exists(#pending.#uid)',
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: { ':rev': rev },
  });
  return isTakenOver !== false;
}

/** The intent has joined the service or left it. */
export async function settleOnRoster(
  table: Table,
  list: string,
  intentUid: string,
  rev: string,
  has: 'joined' | 'left',
  { name }: Slot,
): Promise<void> {
  await table.update(keys.roster(list), {
    UpdateExpression: `REMOVE #pending.#uid SET #slot = :settled${has === 'joined' ? ', members = members + :one' : ''}`,
    ConditionExpression: '#pending.#uid = :mine',
    ExpressionAttributeNames: { '#uid': intentUid, '#pending': 'pending', '#slot': name },
    // not what the mark left there: who has read that must read the record again
    ExpressionAttributeValues: { ':mine': rev, ':settled': `${rev} settled`, ...(has === 'joined' && { ':one': 1 }) },
  });
}

/** A list may be entered by number this many entries from either end; beyond that, cursors lead. */
export const maxSkipped = 5_000;

export const tooFarIn = () =>
  new ApiError(
    'INVALID_PARAMETER',
    'The page is too far from both ends of the list. Follow the Link header (rel="next") from a page nearer by.',
    {
      details: {
        issues: [{ path: '/page', problem: `must begin within ${maxSkipped} entries of either end of the list, or come with after` }],
      },
    },
  );

/**
 * A page of the live intents of some lists in uid order, and how many there are.
 * @param from - index of the first one, or the uid that it comes after
 * @throws ApiError INVALID_PARAMETER if the index is far from both ends
 */
export async function listMembers(
  table: Table,
  lists: string[],
  from: number | string,
  count: number,
): Promise<{ intents: ListedIntent[]; total: number }> {
  if (typeof from === 'string') {
    const [intents, counts] = await Promise.all([take(table, lists, { after: from }, 0, count), countMembers(table, lists)]);
    return { intents, total: sum(counts) };
  }
  const total = sum(await countMembers(table, lists));
  const expected = Math.max(0, Math.min(count, total - from));
  const behind = total - from - expected;
  if (expected === 0) return { intents: [], total };
  if (Math.min(from, behind) > maxSkipped) throw tooFarIn();
  if (from <= behind) {
    // more than were counted: one that has joined since must not take the place of another
    const intents = await take(table, lists, {}, from, count);
    return { intents, total: Math.max(total, from + intents.length) };
  }
  return { intents: (await take(table, lists, { isBackward: true }, behind, expected)).reverse(), total };
}

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

/** How many live intents each of these lists has. */
export async function countMembers(table: Table, lists: readonly string[]): Promise<number[]> {
  const rosters = await table.getAll<Roster>(lists.map(keys.roster));
  return Promise.all(
    rosters.map(async ({ members = 0, pending = {} } = { members: 0, pending: {} }, index) => {
      const uids = Object.keys(pending);
      return uids.length === 0 ? members : members + (await readLive(table, lists[index] ?? '', uids)).size;
    }),
  );
}

/** The records of those intents that are live members of the list, by uid. */
async function readLive(table: Table, list: string, uids: string[]): Promise<Map<string, ListedIntent>> {
  const live = new Map<string, ListedIntent>();
  for (let start = 0; start < uids.length; start += 100) {
    const some = uids.slice(start, start + 100);
    for (const item of await table.getAll<IntentItem>(some.map(keys.intent))) {
      const record = isLive(item) ? toIntentRecord(item) : undefined;
      if (record && listOf(record.service_id, record.draft) === list) live.set(record.intent_uid, record);
    }
  }
  return live;
}

interface Walk {
  after?: string;
  isBackward?: boolean;
}

/** The first members of the lists together, in the order of the walk, after so many are skipped. */
async function take(table: Table, lists: string[], walk: Walk, skipped: number, count: number): Promise<ListedIntent[]> {
  const found = (await Promise.all(lists.map((list) => first(table, list, walk, skipped + count)))).flat();
  const sign = walk.isBackward ? -1 : 1;
  if (lists.length > 1) found.sort((left, right) => (left.intent_uid < right.intent_uid ? -sign : sign));
  return found.slice(skipped, skipped + count);
}

async function first(table: Table, list: string, walk: Walk, count: number): Promise<ListedIntent[]> {
  const found: ListedIntent[] = [];
  for await (const pointers of pages(table, list, walk, count)) {
    const unsettled = pointers.filter((pointer) => !isSettled(pointer)).map(({ intent_uid }) => intent_uid);
    const live = await readLive(table, list, unsettled);
    for (const pointer of pointers) {
      const member = isSettled(pointer) ? (pointer as Member & ListedIntent) : live.get(pointer.intent_uid);
      if (member) found.push({ ...member, draft: list.endsWith(draftsSuffix) });
    }
    if (found.length >= count) break;
  }
  return found;
}

/** Whether the pointer shows its intent as it is. */
const isSettled = ({ pending, rev, deprecated_of }: Member): boolean => !pending && deprecated_of === rev;

/** The pointers of a list, page by page: those of live intents and of some that are being created, or whose deletion was cut short. */
export async function* pages(table: Table, list: string, { after, isBackward }: Walk = {}, limit?: number): AsyncGenerator<Member[]> {
  let start: Key | undefined;
  do {
    const { items, lastKey } = await table.query<Member>(partitions.member.prefix + list, {
      ...(after !== undefined && { range: 'sk > :after', ExpressionAttributeValues: { ':after': after } }),
      ...(isBackward && { ScanIndexForward: false }),
      ...(limit !== undefined && { Limit: limit }),
      ExclusiveStartKey: start,
    });
    yield items;
    start = lastKey;
  } while (start);
}

/** The pointers of a service's intents and drafts, page by page. */
export async function* allPages(table: Table, serviceId: string): AsyncGenerator<Member[]> {
  for (const list of listsOf(serviceId)) yield* pages(table, list);
}

/** The uid of a live intent of the service that stands outside of a namespace, if there is one. */
export async function findMemberOutside(table: Table, serviceId: string, namespace: string): Promise<string | undefined> {
  for (const list of listsOf(serviceId)) {
    for await (const members of pages(table, list)) {
      const outside = members.filter(({ intent_uid }) => splitIntentUid(intent_uid).namespace !== namespace);
      const settled = outside.find(({ pending }) => !pending);
      if (settled) return settled.intent_uid;
      const live = await readLive(
        table,
        list,
        outside.map(({ intent_uid }) => intent_uid),
      );
      if (live.size > 0) return [...live.keys()][0];
    }
  }
  return undefined;
}

/**
 * Removes the intents of a deleted service, 25 at a time; one that belongs to another service by now stays. Before a record goes, the
 * history is told that what it says has taken place.
 * @param untilMs - when to stop, in milliseconds since the epoch; what is left then is dead all the same
 */
export async function removeMembers(
  table: Table,
  serviceId: string,
  untilMs: number,
  history: Pick<History, 'markApplied'>,
): Promise<void> {
  for (const list of listsOf(serviceId)) {
    for await (const members of pages(table, list)) {
      for (let start = 0; start < members.length; start += 25) {
        if (Date.now() >= untilMs) return;
        const some = members.slice(start, start + 25);
        await removeRecords(
          table,
          serviceId,
          some.map(({ intent_uid }) => intent_uid),
          history,
        );
        await table.deleteAll(some.map(({ pk, sk }) => ({ pk, sk })));
      }
    }
    await table.delete(keys.roster(list));
  }
}

/** A record that is written anew meanwhile is read again. */
async function removeRecords(table: Table, serviceId: string, uids: string[], history: Pick<History, 'markApplied'>): Promise<void> {
  for (let left = uids; left.length > 0; ) {
    const records = await table.getAll<IntentItem>(left.map(keys.intent));
    const changed = await Promise.all(
      records.map(async (record) => {
        if (record?.service_id !== serviceId) return [];
        await history.markApplied(record.rev);
        const isRemoved = await table.delete(keys.intent(record.intent_uid), {
          ConditionExpression: 'rev = :seen',
          ExpressionAttributeValues: { ':seen': record.rev },
        });
        return isRemoved ? [] : [record.intent_uid];
      }),
    );
    left = changed.flat();
  }
}
