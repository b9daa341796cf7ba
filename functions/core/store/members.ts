import { type Key, keys, memberPrefix } from './keys.ts';
import type { Table } from './table.ts';

/**
 * Pointers from a service to its intents, in uid order. A pointer is `pending` while its intent is being created or deleted:
 * only then does a reader have to look whether the record is there.
 */
interface Member extends Key, Record<string, unknown> {
  rev: string;
  pending?: true;
}

/** Marks a pointer before its record is written or deleted. */
export async function markMember(table: Table, serviceId: string, intentUid: string, rev: string): Promise<void> {
  await table.put({ ...keys.member(serviceId, intentUid), rev, pending: true });
}

const markedBy = (rev: string) => ({ ConditionExpression: 'rev = :mine', ExpressionAttributeValues: { ':mine': rev } });

/** The record has been written. */
export async function settleMember(table: Table, serviceId: string, intentUid: string, rev: string): Promise<void> {
  await table.update(keys.member(serviceId, intentUid), { UpdateExpression: 'REMOVE pending', ...markedBy(rev) });
}

/** The record has been deleted. */
export async function removeMember(table: Table, serviceId: string, intentUid: string, rev: string): Promise<void> {
  await table.delete(keys.member(serviceId, intentUid), markedBy(rev));
}

async function* pages(table: Table, serviceId: string): AsyncGenerator<Member[]> {
  let start: Key | undefined;
  do {
    const { items, lastKey } = await table.query<Member>({
      KeyConditionExpression: 'pk = :service AND begins_with(sk, :prefix)',
      ExpressionAttributeValues: { ':service': keys.service(serviceId).pk, ':prefix': memberPrefix },
      ExclusiveStartKey: start,
    });
    yield items;
    start = lastKey;
  } while (start);
}

const uidOf = ({ sk }: Key) => sk.slice(memberPrefix.length);

/**
 * The uids of a service's intents, ordered, exact: pending pointers are checked against their records.
 */
export async function listMembers(table: Table, serviceId: string): Promise<string[]> {
  const members = (await Array.fromAsync(pages(table, serviceId))).flat();
  const pending = members.filter((member) => member.pending).map(uidOf);
  const dead = new Set<string>();
  for (let start = 0; start < pending.length; start += 100) {
    const uids = pending.slice(start, start + 100);
    const records = await table.getAll<{ service_id: string; deleted_at?: number }>(uids.map(keys.intent));
    for (const [index, record] of records.entries()) {
      if (record?.service_id !== serviceId || record.deleted_at) dead.add(uids[index] ?? '');
    }
  }
  return members.map(uidOf).filter((uid) => !dead.has(uid));
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
      await Promise.all(some.map((member) => table.delete(keys.intent(uidOf(member)), ownedByThis)));
      await table.deleteAll(some.map(({ pk, sk }) => ({ pk, sk })));
    }
  }
}
