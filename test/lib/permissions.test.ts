import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { type Key, keys, partitions, type RecordKind, tableOf } from '../../functions/core/table/keys.ts';
import type { Needs } from '../../lib/endpoints/needs.ts';
import { declarations } from '../../lib/features.ts';
import { permissionsOf } from '../../lib/permissions.ts';
import { renderPermissions } from '../../tools/render-permissions.ts';

test('the partitions are those of the keys', () => {
  const uid = 'a.example:b:v1';
  const made: Partial<Record<RecordKind, Key>> = {
    service: keys.service('1'),
    serviceName: keys.serviceName('name'),
    intent: keys.intent(uid),
    listEntry: keys.listEntry('1', uid),
    namespace: keys.namespace('a.example'),
    head: keys.head(),
    log: keys.log(1),
    versions: keys.versions(1),
    publishedPolicy: keys.publishedPolicy('1'),
    agent: keys.agent('1'),
    agentKey: keys.agentKey('1'),
    agentList: keys.agentListed('active', '1'),
    limit: keys.limit('1', 'execute'),
    call: keys.call('1', '2'),
    execution: keys.execution('1'),
    held: keys.queuePart('held', 1),
    callQueue: keys.queuePart('callQueue', 1),
    earlierPolicy: keys.earlierPolicy('1'),
    snapshot: keys.snapshot(),
    jti: keys.jti('1', '2'),
    slowCalls: keys.slowCalls('1', '2'),
    executed: keys.executed(0, 0, '1'),
  };
  const ofFeatures = declarations.flatMap(({ records = {} }) => Object.keys(records));
  expect([...new Set([...Object.keys(made), ...ofFeatures])].sort()).toEqual(Object.keys(partitions).sort());
  for (const [kind, { pk }] of Object.entries(made)) {
    const { table, prefix } = partitions[kind as RecordKind];
    expect([kind, pk.startsWith(prefix), tableOf(pk)]).toEqual([kind, true, table]);
  }
  expect(() => tableOf('STRANGER#1')).toThrow(new TypeError('no table holds partitions of this kind'));
});

test('needs of a kind of records that no loaded module defines are refused', () => {
  expect(() => permissionsOf({ table: { notImported: ['get'] } } as Needs)).toThrow(
    new TypeError('no partitions of the kind notImported: the declaration must import the module that defines them'),
  );
});

test('docs/permissions.md is up to date: npm run permissions', () => {
  expect(readFileSync('docs/permissions.md', 'utf8')).toBe(renderPermissions());
});
