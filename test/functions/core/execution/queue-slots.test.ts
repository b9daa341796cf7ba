import { expect, test } from '@jest/globals';
import { freeSlots, type Queue, requireSlots, type Slots } from '../../../../functions/core/execution/queue-slots.ts';
import { keys } from '../../../../functions/core/table/keys.ts';
import { openMemoryTable } from '../../../world/memory-table.ts';

const nowMs = Date.UTC(2030, 0, 1);
const untilMs = nowMs + 3_600_000;

/** Calls of a holder, or of a holder each, that take slots of a queue. */
function openQueue(queue: Queue) {
  const table = openMemoryTable();
  const ask = (executionId: string, account = executionId, on = queue) =>
    requireSlots(table, on, { account, executionId, namespace: undefined, untilMs, nowMs });
  const take = async (...call: Parameters<typeof ask>) => {
    const { slots, writes } = await ask(...call);
    expect(await table.transact(writes)).toBe(true);
    return slots;
  };
  return { table, ask, take };
}

const refused = (message: string) => ({
  code: 'TOO_MANY_REQUESTS',
  status: 429,
  message,
  details: { reason: 'waiting_calls', outcome: 'not_sent' },
  headers: { 'Retry-After': '60' },
});

test.each<[Queue, string]>([
  ['approval', '20 of your calls are waiting for approval, which is the maximum. Wait until some are decided.'],
  ['callQueue', '20 of your calls are being made in the background, which is the maximum. Wait until some have ended.'],
])('a holder has 20 slots in the queue %s, and what one call leaves another takes', async (queue, message) => {
  const { table, ask, take } = openQueue(queue);
  const taken: Slots[] = [];
  for (let at = 0; at < 20; at++) taken.push(await take(`call-${at}`, 'holder'));
  await expect(ask('more', 'holder')).rejects.toMatchObject(refused(message));
  await take('of-another');
  await freeSlots(table, queue, { account: 'holder', executionId: 'call-7', slots: taken[7] as Slots });
  expect(await take('more', 'holder')).toMatchObject({ among_own: taken[7]?.among_own });
});

test.each<[Queue, Queue, string]>([
  ['approval', 'callQueue', 'Too many calls are waiting for approval. Try again later, or ask the operators of this gate to decide.'],
  [
    'callQueue',
    'approval',
    'Too many calls are being made in the background. Try again later, or send this one without Prefer: respond-async.',
  ],
])('the queue %s has 1,000 slots, which %s does not take', async (queue, other, message) => {
  const { table, ask, take } = openQueue(queue);
  for (let at = 0; at < 1_000; at++) {
    const slots = { among_all: at, among_own: 0 };
    await table.put({ ...keys.queueSlot(queue, '', at), execution_id: `call-${at}`, account: `${at}`, slots, until: untilMs });
  }
  await expect(ask('more')).rejects.toMatchObject(refused(message));
  await take('more', 'more', other);
  await table.update(keys.queueSlot(queue, '', 7), { set: { until: nowMs } });
  expect(await take('more')).toMatchObject({ among_all: 7 });
});
