import assert from 'node:assert/strict';
import { operator } from '../../functions/core/admin/admin.ts';
import { openChangeLog } from '../../functions/core/registry/change-log.ts';
import { openPublisher, readPublication } from '../../functions/core/registry/publish-policy.ts';
import { keys, policyCopies } from '../../functions/core/table/keys.ts';
import type { Table } from '../../functions/core/table/table.ts';
import { compiledText, loadPolicyTemplate, openInForce } from '../support/policy.ts';
import type { Scenario } from './explore.ts';
import { errorsOf, requireCodes, times, valuesOf } from './outcomes.ts';
import { requireWholeLog } from './registry-scenarios.ts';

const baseUrl = 'https://gate.example';
const file = loadPolicyTemplate();
const policies = await Promise.all(
  ['one', 'another', 'earlier'].map((name) => readPublication(JSON.stringify({ ...file, uid: `{base_url}/policies/${name}` }), baseUrl)),
);

/** The version of the policy by which an execution is judged that begins now: undefined is that of the deployment. */
async function judgedBy(table: Table, copy: number): Promise<string | undefined> {
  const pointer = (await table.get<{ rev: number; version?: string }>(keys.policyInForce(copy))) ?? null;
  const { uid } = (await openInForce(table)(baseUrl, pointer)).policy;
  const version = policies.find(({ text }) =>
    text.includes(JSON.stringify({ uid: uid.replace(baseUrl, '{base_url}') }).slice(1, -1)),
  )?.version;
  assert.equal(pointer?.version, version, 'an execution is judged by another policy than the pointer names');
  return version;
}

const publish = (table: Table, at: number, seen?: string) =>
  openPublisher(openChangeLog(table), compiledText).publish(operator, policies[at] ?? assert.fail(), seen);

const published = ({ at, isFirst = false }: { at: readonly number[]; isFirst?: boolean }, budget: Scenario['budget']): Scenario => ({
  name: `${at.length === 1 ? 'one admin publishes' : 'two admins publish at once'}, ${isFirst ? 'for the first time' : 'again'}, and executions begin`,
  promise: 'no call begun after the answer is judged by the older policy, and a crash at any step leaves one of the two in force',
  budget,
  prepare: async (before) => {
    const seen = isFirst ? undefined : policies[2]?.version;
    if (!isFirst) await publish(before, 2);
    return {
      callers: [
        ...at.map((which) => async ({ table }: { table: Table }) => {
          await publish(table, which, seen);
          const next = await judgedBy(table, which + 1);
          assert.equal(next, policies[which]?.version, 'a call that began after the answer was judged by the older policy');
          return next;
        }),
        async ({ table }: { table: Table }) => {
          const first = await judgedBy(table, 5);
          const second = await judgedBy(table, 6);
          assert.ok(first === seen || second === first, 'a later call was judged by an older policy');
          return undefined;
        },
      ],
      check: async (end) => {
        requireCodes(end, 'CONFLICT', ...(end.isUndisturbed ? [] : ['SERVICE_UNAVAILABLE']));
        const versions = await Promise.all(times(policyCopies, (copy) => judgedBy(end.table, copy)));
        assert.equal(new Set(versions).size, 1, 'the copies of the pointer differ');
        const last = (await requireWholeLog(end.table)).flatMap(({ changes }) => changes).at(-1);
        assert.equal(last?.digest_after, versions[0] && `sha-256=${versions[0]}`, 'another policy is in force than the log says');
        const acknowledged = valuesOf(end.outcomes).filter((value) => value !== undefined);
        assert.ok(acknowledged.length <= 1, 'two admins have replaced the same policy');
        if (end.isUndisturbed) assert.deepEqual([acknowledged.length, errorsOf(end.outcomes).length], [1, at.length - 1]);
      },
    };
  },
});

export const publicationScenarios: readonly Scenario[] = [
  published({ at: [0], isFirst: true }, { crashes: 1, faults: 1 }),
  published({ at: [0, 1], isFirst: true }, { crashes: 1 }),
  published({ at: [0, 1] }, { crashes: 1 }),
];
