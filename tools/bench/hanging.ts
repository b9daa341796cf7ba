import { mock } from 'node:test';
import { boundOf, openSlowCalls, type SlowCallsItem } from '../../functions/core/execution/slow-calls.ts';
import { openBreaker } from '../../functions/core/relay/breaker.ts';
import { CallFailed } from '../../functions/core/relay/call-failure.ts';
import type { Condition, Update } from '../../functions/core/table/expression.ts';
import type { Key } from '../../functions/core/table/keys.ts';
import type { Item, Table } from '../../functions/core/table/table.ts';
import { benchmark } from './benchmark.ts';

const usage = `npm run bench -- hanging [--environments 300] [--minutes 5] [--healthy 50]

Simulates one function of which an upstream hangs: calls to it end after 20 seconds, those to another one after 0.3 seconds, and each environment
runs one call at a time. Prints how many of the healthy calls find no environment in each minute, with and without the bound of slow calls.
  --environments  how many may run, which is the reserved concurrency
  --minutes       how long
  --healthy       healthy calls a second`;

/** What is simulated: rates in calls a second. */
export interface Hanging {
  environments: number;
  minutes: number;
  healthy: number;
  hanging: number;
  /** how long a call to the hanging upstream takes, in milliseconds; from 20 s on it is a failure */
  hangMs?: number;
  /** most slow calls to one origin; none are bounded without it */
  bound?: number;
}

const deadlineMs = 20_000;
const healthyMs = 300;
/** One way to the table, in milliseconds. */
const wayMs = 3;

const later = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));

/** @returns for each minute, the share of the healthy calls that are refused, and the most calls that hang at the same time */
export async function simulateHanging({ environments, minutes, healthy, hanging, hangMs = deadlineMs, bound }: Hanging) {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  try {
    const table = openLeaseTable();
    const slowCalls = openSlowCalls(table, 'execute-intent', bound ?? Number.POSITIVE_INFINITY);
    const free = Array.from({ length: environments }, () => openBreaker());
    const minute = Array.from({ length: minutes }, () => ({ calls: 0, refused: 0, hanging: 0 }));
    let underWay = 0;

    async function call(breaker: ReturnType<typeof openBreaker>, isHanging: boolean): Promise<void> {
      const host = isHanging ? 'hanging.example' : 'healthy.example';
      const intent = { endpoint: { url: `https://${host}/` } } as Parameters<typeof slowCalls.of>[0];
      await later(wayMs * 2);
      const ofOrigin = slowCalls.of(intent, table.read(slowCalls.keyOf(intent)));
      ofOrigin.requireRoom();
      if (breaker.secondsToWait(host, {}) > 0) return;
      const endWatch = ofOrigin.watch();
      underWay += Number(isHanging);
      await later(isHanging ? hangMs : healthyMs);
      underWay -= Number(isHanging);
      breaker.record(host, !isHanging || hangMs < deadlineMs);
      await endWatch();
    }

    function arrive(isHanging: boolean, at: (typeof minute)[number]): void {
      if (!isHanging) at.calls++;
      const [breaker] = free.splice(Math.floor(Math.random() * free.length), 1);
      if (breaker === undefined) {
        if (!isHanging) at.refused++;
        return;
      }
      const refused = (error: unknown) => {
        if (!(error instanceof CallFailed)) throw error;
      };
      void call(breaker, isHanging)
        .catch(refused)
        .finally(() => free.push(breaker));
    }

    for (const at of minute) {
      for (let ms = 0; ms < 60_000; ms++) {
        if (Math.random() < healthy / 1_000) arrive(false, at);
        if (Math.random() < hanging / 1_000) arrive(true, at);
        mock.timers.tick(1);
        await new Promise((resolve) => setImmediate(resolve));
        at.hanging = Math.max(at.hanging, underWay);
      }
    }
    return minute.map(({ calls, refused, hanging }) => ({ refused: refused / calls, hanging }));
  } finally {
    mock.timers.reset();
  }
}

/** A table of the lists of slow calls. */
function openLeaseTable(): Pick<Table, 'update'> & { read(key: Key): Item } {
  const items = new Map<string, SlowCallsItem>();
  const read = ({ pk }: Key): SlowCallsItem => items.get(pk) ?? { expires_at: 0 };
  return {
    read,
    async update<T extends Item>(key: Key, { add = [], take = {}, set, when = [] }: Update) {
      await later(wayMs);
      const { leases = new Set() } = read(key);
      const isFull = when.some(([verb, , fewer]) => verb === 'any' && leases.size >= Number((fewer as Condition)[2]));
      const added = isFull ? [] : add.flatMap(([, members]) => [...(members as Set<string>)]);
      if (!isFull)
        items.set(key.pk, { ...read(key), ...set, leases: new Set([...leases, ...added].filter((lease) => !take.leases?.has(lease))) });
      await later(wayMs);
      return !isFull && (read(key) as Item as T);
    },
  };
}

const cases = [{ hanging: 20 }, { hanging: 60 }, { hanging: 200 }, { hanging: 100, hangMs: 10_000 }];

export const run = benchmark(usage, { environments: 300, minutes: 5, healthy: 50 }, async (options) => {
  for (const given of cases) {
    for (const bound of [undefined, boundOf(options.environments)]) {
      const minutes = await simulateHanging({ ...options, ...given, ...(bound && { bound }) });
      const shown = minutes.map(({ refused, hanging }) => `${(100 * refused).toFixed(1)} % (${hanging})`).join(', ');
      console.log(`${given.hanging} calls/s of ${(given.hangMs ?? deadlineMs) / 1_000} s, bound ${bound ?? 'none'}: ${shown}`);
    }
  }
});
