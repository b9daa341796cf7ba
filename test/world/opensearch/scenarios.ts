import assert from 'node:assert/strict';
import { type FeedProgress, openFeedState } from '../../../functions/opensearch/feed-state.ts';
import { feedKey } from '../../../functions/opensearch/records.ts';
import type { Scenario } from '../explore.ts';
import { alike, answerOf, codeOf, codesOf, errorsOf, valuesOf } from '../outcomes.ts';

/** Runs of the feed of a search collection. */
export const feedScenarios: Scenario[] = [
  {
    name: 'two runs of a feed',
    promise: 'one run feeds a collection at a time',
    budget: { faults: 1, crashes: 1 },
    prepare: async () => {
      let working = 0;
      return {
        callers: alike(2, async ({ table, act }) => {
          const run = await openFeedState(table, 'collection').begin();
          if (!run) return 'busy';
          assert.equal(++working, 1, 'two runs are at work');
          await act('collection', () => {});
          working--;
          await run.end();
          return 'ran';
        }),
        check: ({ outcomes }) => void codesOf(outcomes),
      };
    },
  },
  {
    name: 'a run of a feed that took too long',
    promise: 'what a later run has achieved stands',
    budget: { faults: 1 },
    prepare: async (before) => {
      await openFeedState(before, 'collection').begin();
      return {
        callers: alike(2, async ({ table }, at) => {
          const startMs = Date.now() + (at + 1) * 400_000;
          const begun = await openFeedState(table, 'collection', () => startMs).begin();
          await begun?.save({ seen: { seq: startMs, digest: null } });
          return begun?.number;
        }),
        check: async ({ outcomes, table }) => {
          for (const error of errorsOf(outcomes)) if (!/a later run has taken over/.test(String(error))) codeOf(error);
          const item = await table.get<{ run_number: number; progress?: FeedProgress }>(feedKey('collection'));
          const numbers = valuesOf(outcomes) as (number | undefined)[];
          const at = outcomes.findIndex((outcome) => answerOf(outcome) === Math.max(...numbers.map((one) => one ?? 0)));
          const isLatest = answerOf(outcomes[at]) === item?.run_number;
          if (at >= 0 && isLatest && answerOf(outcomes[at]))
            assert.equal(item?.progress?.seen.seq, Date.now() + (at + 1) * 400_000, 'an earlier run has overwritten a later one');
        },
      };
    },
  },
];
