import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ulid } from 'ulid';
import type { Change, RegistryRecord } from '../../../../../functions/core/registry/records.ts';
import type { RegistrySource } from '../../../../../functions/core/search/registry-source.ts';
import { followChanges, oneAtATime } from '../../../../../functions/core/search/sqlite/index-sync.ts';
import type { SearchIndex } from '../../../../../functions/core/search/sqlite/search-index.ts';
import { ulidTimeMs } from '../../../../../functions/core/ulid.ts';

/** A registry in memory whose delays and clocks the test controls. */
function fakeRegistry() {
  const records = new Map<string, RegistryRecord>();
  const changes: Change[] = [];
  const reads: string[][] = [];
  const source: RegistrySource = {
    async *changesSince(timeMs) {
      const due = changes.filter(({ rev }) => ulidTimeMs(rev) >= timeMs).sort((a, b) => (a.rev < b.rev ? -1 : 1));
      for (let start = 0; start < due.length; start += 150) yield due.slice(start, start + 150);
    },
    async readChanged(asked) {
      reads.push(asked.map(({ id }) => id));
      return asked.map(({ id }) => records.get(id));
    },
    async *readAll() {
      yield { records: [...records.values()] };
    },
  };
  const seen = new Map<string, string>();
  const index = {
    apply: (applied: readonly RegistryRecord[]) => {
      for (const { rev, service_id } of applied) seen.set(service_id, rev);
    },
  } as SearchIndex;
  const announce = (rev: string, id: string) => changes.push({ rev, kind: 'service', id });
  const write = (rev: string, id: string) => records.set(id, { kind: 'service', service_id: id, rev } as RegistryRecord);
  const truth = () => new Map([...records].map(([id, { rev }]) => [id, rev]));
  return { source, index, seen, reads, announce, write, truth, records };
}

const startMs = Date.parse('2026-01-01T12:00:00Z');

describe('followChanges', () => {
  test('shows every write that ended before, whatever clocks, delays and crashes there are', async () => {
    const write = fc.record({
      id: fc.constantFrom('a', 'b', 'c'),
      atMs: fc.integer({ min: 0, max: 15_000 }),
      clockMs: fc.oneof(fc.constantFrom(-5_000, 5_000), fc.integer({ min: -5_000, max: 5_000 })),
      announcingMs: fc.oneof(fc.constant(3_000), fc.integer({ min: 0, max: 3_000 })),
      writingMs: fc.oneof(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 0, max: 26_000 })),
      crashes: fc.boolean(),
    });
    const searches = fc.array(fc.oneof(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 0, max: 120_000 })), {
      minLength: 10,
      maxLength: 60,
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(write, { maxLength: 15 }),
        searches,
        fc.integer({ min: -5_000, max: 5_000 }),
        async (writes, at, clockMs) => {
          const registry = fakeRegistry();
          let timeMs = 0;
          const asOfMs = startMs + clockMs;
          const catchUp = followChanges(registry.source, { index: registry.index, asOfMs }, () => startMs + timeMs + clockMs);
          const events: { atMs: number; run: () => unknown }[] = at.map((atMs) => ({
            atMs,
            run: async () => {
              await catchUp();
              expect(registry.seen).toEqual(registry.truth());
            },
          }));
          for (const { id, atMs, clockMs: writerMs, announcingMs, writingMs, crashes } of writes) {
            const rev = ulid(startMs + atMs + writerMs);
            let replaced: string | undefined;
            events.push({ atMs, run: () => (replaced = registry.records.get(id)?.rev) });
            events.push({ atMs: atMs + announcingMs, run: () => registry.announce(rev, id) });
            const put = () => registry.records.get(id)?.rev === replaced && registry.write(rev, id);
            if (!crashes) events.push({ atMs: atMs + announcingMs + writingMs, run: put });
          }
          for (const event of events.sort((a, b) => a.atMs - b.atMs)) {
            timeMs = event.atMs;
            await event.run();
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  test('reads a settled change once, an awaited one at each search for 60 s, and then no more', async () => {
    const registry = fakeRegistry();
    let nowMs = startMs;
    const catchUp = followChanges(registry.source, { index: registry.index, asOfMs: startMs }, () => nowMs);
    const searchAt = async (ms: number) => {
      nowMs = startMs + ms;
      registry.reads.length = 0;
      await catchUp();
      return registry.reads.flat();
    };
    registry.announce(ulid(startMs), 'crashed');
    const rev = ulid(startMs + 1);
    registry.announce(rev, 'written');
    registry.write(rev, 'written');
    expect(await searchAt(10)).toEqual(['crashed', 'written']);
    expect(await searchAt(20)).toEqual(['crashed']);
    expect(await searchAt(60_000)).toEqual(['crashed']);
    expect(await searchAt(60_001)).toEqual(['crashed']);
    expect(await searchAt(60_002)).toEqual([]);
  });

  test('reads a long list of changes in batches of 100', async () => {
    const registry = fakeRegistry();
    for (let n = 0; n < 320; n++) {
      const rev = ulid(startMs + n);
      registry.announce(rev, `s${n}`);
      registry.write(rev, `s${n}`);
    }
    await followChanges(registry.source, { index: registry.index, asOfMs: startMs }, () => startMs + 1_000)();
    expect(registry.reads.map((read) => read.length)).toEqual([100, 50, 100, 50, 20]);
    expect(registry.seen).toEqual(registry.truth());
  });

  test('does not count what it could not read as seen', async () => {
    const registry = fakeRegistry();
    const rev = ulid(startMs);
    registry.announce(rev, 'a');
    registry.write(rev, 'a');
    let fails = true;
    const source: RegistrySource = {
      ...registry.source,
      readChanged: (changes) => (fails ? Promise.reject(new Error('down')) : registry.source.readChanged(changes)),
    };
    const catchUp = followChanges(source, { index: registry.index, asOfMs: startMs }, () => startMs);
    await expect(catchUp()).rejects.toThrow('down');
    fails = false;
    await catchUp();
    expect(registry.seen).toEqual(registry.truth());
  });
});

describe('oneAtATime', () => {
  test('gives a caller a run that begins after its call, and shares it with all who wait', async () => {
    let runs = 0;
    let active = 0;
    const gates: (() => void)[] = [];
    const run = oneAtATime(async () => {
      expect(++active).toBe(1);
      const mine = ++runs;
      await new Promise<void>((resolve) => gates.push(resolve));
      active--;
      return mine;
    });
    const settle = () => new Promise((resolve) => setImmediate(resolve));
    const first = run();
    await settle();
    const second = run();
    const third = run();
    gates[0]?.();
    await settle();
    gates[1]?.();
    expect(await Promise.all([first, second, third])).toEqual([1, 2, 2]);
  });

  test('goes on after a run that failed', async () => {
    let fails = true;
    const run = oneAtATime(async () => {
      if (fails) throw new Error('down');
      return 'up';
    });
    await expect(run()).rejects.toThrow('down');
    fails = false;
    expect(await run()).toBe('up');
  });
});
