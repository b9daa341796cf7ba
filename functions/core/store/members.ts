import type { IntentInput } from '../../../schemas/intent.ts';
import { ApiError } from '../api-error.ts';
import { type IntentItem, isLive, toIntentRecord } from './intent-item.ts';
import { type Key, keys, partitions } from './keys.ts';
import type { Item, Table } from './table.ts';

/** What a list shows of an intent. */
export type ListedIntent = Pick<IntentInput, 'intent_uid' | 'intent_name' | 'description' | 'tags'>;

/**
 * A pointer from a service to one of its intents. It carries what a list shows, so that a list reads neither the records nor the partitions
 * that executions read. A pointer is `pending` while its intent is being written: only then does a reader have to look at the record.
 */
interface Member extends Key, Partial<ListedIntent>, Item {
  intent_uid: string;
  rev: string;
  pending?: true;
}

/** How many members a service has, besides those that are about to join or leave it: those count if their records are live. */
interface Roster extends Item {
  members: number;
  /** revisions that are about to be written, by uid */
  pending: Record<string, string>;
}

/** Begins the roster of a service, before the service's record. */
export async function createRoster(table: Table, serviceId: string): Promise<void> {
  await table.put({ ...keys.roster(serviceId), members: 0, pending: {} });
}

/** Says that the record of an intent is about to be written as revision `rev`: marks its pointer, before the record. */
export async function markMember(table: Table, serviceId: string, intentUid: string, rev: string): Promise<void> {
  await table.update(keys.member(serviceId, intentUid), {
    UpdateExpression: 'SET intent_uid = :uid, rev = :rev, pending = :pending',
    ExpressionAttributeValues: { ':uid': intentUid, ':rev': rev, ':pending': true },
  });
}

/** The record has been written: the pointer shows it. Nothing happens if another writer has marked the pointer since. */
export async function settleMember(table: Table, serviceId: string, rev: string, intent: ListedIntent): Promise<void> {
  const { intent_uid, intent_name, description, tags = [] } = intent;
  await table.update(keys.member(serviceId, intent_uid), {
    UpdateExpression: 'SET intent_name = :name, #description = :description, tags = :tags REMOVE pending',
    ConditionExpression: 'rev = :mine',
    ExpressionAttributeNames: { '#description': 'description' },
    ExpressionAttributeValues: { ':mine': rev, ':name': intent_name, ':description': description, ':tags': tags },
  });
}

/** The record has been deleted. Nothing happens if another writer has marked the pointer since. */
export async function removeMember(table: Table, serviceId: string, intentUid: string, rev: string): Promise<void> {
  const isMine = { ConditionExpression: 'rev = :mine', ExpressionAttributeValues: { ':mine': rev } };
  await table.delete(keys.member(serviceId, intentUid), isMine);
}

/**
 * Says that an intent is about to join a service or to leave it. From now on it counts if its record is live, until somebody settles the
 * matter; who marks it again takes the duty over. Each step recognises itself, so one whose answer was lost may be sent again.
 */
export async function markOnRoster(
  table: Table,
  serviceId: string,
  intentUid: string,
  rev: string,
  step: 'joins' | 'leaves',
): Promise<void> {
  const key = keys.roster(serviceId);
  const names = { ExpressionAttributeNames: { '#uid': intentUid, '#pending': 'pending' } };
  const isTakenOut =
    step === 'leaves' &&
    (await table.update(key, {
      UpdateExpression: 'SET #pending.#uid = :rev, members = members - :one',
      ConditionExpression: 'attribute_exists(members) AND attribute_not_exists(#pending.#uid)',
      ...names,
      ExpressionAttributeValues: { ':rev': rev, ':one': 1 },
    }));
  if (isTakenOut) return;
  await table.update(key, {
    UpdateExpression: 'SET #pending.#uid = :rev',
    ConditionExpression: `attribute_exists(members)${step === 'leaves' ? ' AND attribute_exists(#pending.#uid)' : ''}`,
    ...names,
    ExpressionAttributeValues: { ':rev': rev },
  });
}

/** The intent has joined the service or left it. */
export async function settleOnRoster(
  table: Table,
  serviceId: string,
  intentUid: string,
  rev: string,
  has: 'joined' | 'left',
): Promise<void> {
  await table.update(keys.roster(serviceId), {
    UpdateExpression: `REMOVE #pending.#uid${has === 'joined' ? ' SET members = members + :one' : ''}`,
    ConditionExpression: '#pending.#uid = :mine',
    ExpressionAttributeNames: { '#uid': intentUid, '#pending': 'pending' },
    ExpressionAttributeValues: { ':mine': rev, ...(has === 'joined' && { ':one': 1 }) },
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
 * A page of a service's live intents in uid order, and how many there are.
 * @param from - index of the first one, or the uid that it comes after
 * @throws ApiError INVALID_PARAMETER if the index is far from both ends
 */
export async function listMembers(
  table: Table,
  serviceId: string,
  from: number | string,
  count: number,
): Promise<{ intents: ListedIntent[]; total: number }> {
  if (typeof from === 'string') {
    const [intents, [total = 0]] = await Promise.all([take(table, serviceId, { after: from }, 0, count), countMembers(table, [serviceId])]);
    return { intents, total };
  }
  const [total = 0] = await countMembers(table, [serviceId]);
  const expected = Math.max(0, Math.min(count, total - from));
  const behind = total - from - expected;
  if (expected === 0) return { intents: [], total };
  if (Math.min(from, behind) > maxSkipped) throw tooFarIn();
  if (from <= behind) return { intents: await take(table, serviceId, {}, from, expected), total };
  return { intents: (await take(table, serviceId, { isBackward: true }, behind, expected)).reverse(), total };
}

/** How many live intents each of these services has. */
export async function countMembers(table: Table, serviceIds: readonly string[]): Promise<number[]> {
  const rosters = await table.getAll<Roster>(serviceIds.map(keys.roster));
  return Promise.all(
    rosters.map(async ({ members = 0, pending = {} } = { members: 0, pending: {} }, index) => {
      const uids = Object.keys(pending);
      return uids.length === 0 ? members : members + (await readLive(table, serviceIds[index] ?? '', uids)).size;
    }),
  );
}

/** The records of those intents that are live members of the service, by uid. */
async function readLive(table: Table, serviceId: string, uids: string[]): Promise<Map<string, ListedIntent>> {
  const live = new Map<string, ListedIntent>();
  for (let start = 0; start < uids.length; start += 100) {
    const some = uids.slice(start, start + 100);
    for (const record of await table.getAll<IntentItem>(some.map(keys.intent))) {
      if (isLive(record) && record.service_id === serviceId) live.set(record.intent_uid, toIntentRecord(record));
    }
  }
  return live;
}

interface Walk {
  after?: string;
  isBackward?: boolean;
}

async function take(table: Table, serviceId: string, walk: Walk, skipped: number, count: number): Promise<ListedIntent[]> {
  const found: ListedIntent[] = [];
  for await (const pointers of pages(table, serviceId, walk, skipped + count)) {
    const pending = pointers.filter((pointer) => pointer.pending).map(({ intent_uid }) => intent_uid);
    const live = pending.length > 0 ? await readLive(table, serviceId, pending) : new Map<string, ListedIntent>();
    for (const pointer of pointers) {
      const member = pointer.pending ? live.get(pointer.intent_uid) : (pointer as Member & ListedIntent);
      if (member) found.push(member);
    }
    if (found.length >= skipped + count) break;
  }
  return found.slice(skipped, skipped + count);
}

/** The pointers of a service, page by page: those of live intents and of some that are being created, or whose deletion was cut short. */
export async function* pages(table: Table, serviceId: string, { after, isBackward }: Walk = {}, limit?: number): AsyncGenerator<Member[]> {
  let start: Key | undefined;
  do {
    const { items, lastKey } = await table.query<Member>(partitions.member.prefix + serviceId, {
      ...(after !== undefined && { range: 'sk > :after', ExpressionAttributeValues: { ':after': after } }),
      ...(isBackward && { ScanIndexForward: false }),
      ...(limit !== undefined && { Limit: limit }),
      ExclusiveStartKey: start,
    });
    yield items;
    start = lastKey;
  } while (start);
}

/**
 * Removes the intents of a deleted service, 25 at a time; one that belongs to another service by now stays.
 * @param untilMs - when to stop, in milliseconds since the epoch; what is left then is dead all the same
 */
export async function removeMembers(table: Table, serviceId: string, untilMs: number): Promise<void> {
  for await (const members of pages(table, serviceId)) {
    for (let start = 0; start < members.length; start += 25) {
      if (Date.now() >= untilMs) return;
      const some = members.slice(start, start + 25);
      const ownedByThis = { ConditionExpression: 'service_id = :this', ExpressionAttributeValues: { ':this': serviceId } };
      await Promise.all(some.map(({ intent_uid }) => table.delete(keys.intent(intent_uid), ownedByThis)));
      await table.deleteAll(some.map(({ pk, sk }) => ({ pk, sk })));
    }
  }
  await table.delete(keys.roster(serviceId));
}
