/**
 * The promise about idempotency keys, at length: the same request many times at once from separate clients, while a part of the table's
 * answers is lost after the writes took effect, and now and then the execution that calls the upstream dies before it has recorded the outcome.
 * `node test/long/idempotency.ts [--rounds 1000] [--parallel 200] [--lost 0.2] [--deaths 0.1] [--seed 1]`
 */
import { openIdempotentCalls } from '../../functions/core/execution/idempotent-call-store.ts';
import { connectFaultyTable, openFaultyTable } from '../support/faulty-table.ts';
import { seededRandom } from '../support/random.ts';
import { readNumbers } from './options.ts';

const { rounds, parallel, lost, deaths, seed } = readNumbers({ rounds: 1_000, parallel: 200, lost: 0.2, deaths: 0.1, seed: 1 });

const store = openFaultyTable({ dropAfter: lost }, seed);
const random = seededRandom(seed);
const clients = Array.from({ length: 4 }, () => openIdempotentCalls(connectFaultyTable(store.send)));
const totals = { once: 0, never: 0, twice: 0, differing: 0, replayed: 0, unknown: 0 };

for (let round = 0; round < rounds; round++) {
  let upstreamCalls = 0;
  const answers = new Set<unknown>();
  const execute = async (index: number, nowMs = Date.now()) => {
    const request = {
      account: 'thumbprint',
      agentId: 'agent',
      key: `key-${round}`,
      executionId: `${round}-${index}-${nowMs}`,
      fingerprint: 'same',
      nowMs,
    };
    const calls = clients[index % clients.length] as (typeof clients)[0];
    const held = await calls.begin(request);
    if (held.state === 'replay') answers.add((held.outcome as { body: unknown }).body);
    if (held.state === 'unknown') totals.unknown++;
    if (held.state !== 'started') return;
    upstreamCalls++;
    if (random() < deaths) return;
    answers.add(request.executionId);
    await calls.finish(request, { status: 200, body: request.executionId });
  };
  await Promise.allSettled(Array.from({ length: parallel }, (_, index) => execute(index)));
  // retries: at once, and when the first cannot be running any more
  await Promise.allSettled([0, 1, 2, 3].map((index) => execute(index)));
  await Promise.allSettled([0, 1, 2, 3].map((index) => execute(index, Date.now() + 60_000)));
  totals[upstreamCalls === 0 ? 'never' : upstreamCalls === 1 ? 'once' : 'twice']++;
  if (answers.size > 1) totals.differing++;
  if (answers.size === 1) totals.replayed++;
  if (round % 50 === 49) console.log(`${round + 1} of ${rounds} rounds`);
}

console.log(`${rounds} keys, ${parallel} requests at once under each; ${store.counts.dropAfter} of ${store.counts.requests} answers lost`);
console.log(`called once: ${totals.once}; never (503 for whoever took the key): ${totals.never}; more than once: ${totals.twice}`);
console.log(
  `one answer for all: ${totals.replayed}; differing answers: ${totals.differing}; told that the outcome is unknown: ${totals.unknown} times`,
);
process.exitCode = totals.twice + totals.differing === 0 ? 0 : 1;
