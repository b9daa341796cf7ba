import { mock } from 'node:test';
import { boundOf, openSlowCalls, type SlowCallsItem } from '../../functions/core/execution/slow-calls.ts';
import { openBreaker } from '../../functions/core/relay/breaker.ts';
import { CallFailed } from '../../functions/core/relay/call-failure.ts';
import type { Condition, Update } from '../../functions/core/table/expression.ts';
import type { Key } from '../../functions/core/table/keys.ts';
import type { Item, Table } from '../../functions/core/table/table.ts';

/** Parameters of a simulation; `healthy` and `hanging` are rates in calls per second. */
export interface Hanging {
  environments: number;
  minutes: number;
  healthy: number;
  hanging: number;
  /** duration of a call to the hanging upstream, in milliseconds; from 20 s it counts as a failure. Default: 20 s */
  hangMs?: number;
  /** maximum number of slow calls to one origin; default: unlimited */
  bound?: number;
}

const deadlineMs = 20_000;
const healthyMs = 300;
const stepMs = 5;

const later = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));

/** @returns the share of healthy calls that are refused, for each minute */
export async function simulateHanging({ environments, minutes, healthy, hanging, hangMs = deadlineMs, bound }: Hanging): Promise<number[]> {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  try {
    const table = openLeaseTable();
    const slowCalls = openSlowCalls(table, 'execute-intent', bound ?? Number.POSITIVE_INFINITY);
    const free = Array.from({ length: environments }, () => openBreaker());

    async function call(breaker: ReturnType<typeof openBreaker>, host: string, takesMs: number): Promise<void> {
      const intent = { endpoint: { url: `https://${host}/` } } as Parameters<typeof slowCalls.of>[0];
      await later(stepMs);
      const ofOrigin = slowCalls.of(intent, table.read(slowCalls.keyOf(intent)));
      ofOrigin.requireRoom();
      if (breaker.secondsToWait(host, {}) > 0) throw new CallFailed('resting');
      const endWatch = await ofOrigin.watch();
      await later(takesMs);
      breaker.record(host, takesMs < deadlineMs);
      await endWatch();
    }

    /** Makes a call. @returns whether it was refused because no environment was free */
    function isRefused(host: string, takesMs: number): boolean {
      const [breaker] = free.splice(Math.floor(Math.random() * free.length), 1);
      if (breaker === undefined) return true;
      void call(breaker, host, takesMs)
        .catch((error) => {
          if (!(error instanceof CallFailed)) throw error;
        })
        .finally(() => free.push(breaker));
      return false;
    }

    const refused = Array.from({ length: minutes }, () => 0);
    let [healthyDue, hangingDue] = [0, 0];
    for (let ms = 0; ms < minutes * 60_000; ms += stepMs) {
      const minute = Math.floor(ms / 60_000);
      for (healthyDue += (healthy * stepMs) / 1_000; healthyDue >= 1; healthyDue--)
        if (isRefused('healthy.example', healthyMs)) refused[minute] = (refused[minute] ?? 0) + 1;
      for (hangingDue += (hanging * stepMs) / 1_000; hangingDue >= 1; hangingDue--) isRefused('hanging.example', hangMs);
      mock.timers.tick(stepMs);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return refused.map((count) => count / (healthy * 60));
  } finally {
    mock.timers.reset();
  }
}

/** An in-memory table for the lists of slow calls. */
function openLeaseTable(): Pick<Table, 'get' | 'update'> & { read(key: Key): SlowCallsItem } {
  const items = new Map<string, SlowCallsItem>();
  const read = ({ pk }: Key): SlowCallsItem => items.get(pk) ?? { expires_at: 0 };
  return {
    read,
    get: async <T extends Item>(key: Key) => read(key) as Item as T,
    async update<T extends Item>(key: Key, { add = [], take = {}, set, when = [] }: Update) {
      await later(stepMs);
      const { leases = new Set() } = read(key);
      if (when.some(([verb, , fewer]) => verb === 'any' && leases.size >= Number((fewer as Condition)[2]))) return false;
      const added = add.flatMap(([, members]) => [...(members as Set<string>)]);
      items.set(key.pk, { ...read(key), ...set, leases: new Set([...leases, ...added].filter((lease) => !take.leases?.has(lease))) });
      return read(key) as Item as T;
    },
  };
}

const cases = [{ hanging: 20 }, { hanging: 60 }, { hanging: 200 }, { hanging: 100, hangMs: 10_000 }];

/** Prints the share of healthy calls that are refused in each minute, with and without the bound on slow calls. */
export async function measureHanging(options: Pick<Hanging, 'environments' | 'minutes' | 'healthy'>): Promise<void> {
  for (const given of cases) {
    for (const bound of [undefined, boundOf(options.environments)]) {
      const minutes = await simulateHanging({ ...options, ...given, ...(bound && { bound }) });
      const shown = minutes.map((refused) => `${(100 * refused).toFixed(1)} %`).join(', ');
      console.log(`${given.hanging} calls/s of ${(given.hangMs ?? deadlineMs) / 1_000} s, bound ${bound ?? 'none'}: ${shown}`);
    }
  }
}
