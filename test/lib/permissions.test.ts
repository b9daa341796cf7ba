import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Key, keys, partitions, type RecordKind, tableOf } from '../../functions/core/table/keys.ts';
import { backgroundFunctions, endpoints, hasFunction } from '../../lib/endpoints.ts';
import { permissionsOf } from '../../lib/permissions.ts';
import { renderPermissions } from '../../lib/permissions-table.ts';
import { logicalPrefix, type Resource, type Synthesis, synthesize } from './synthesize.ts';

let standard: Synthesis;

beforeAll(() => {
  // with two keys, so that permissions for only one of them show
  standard = synthesize({ signingKeys: 'b,a', signIn: true, publicBaseUrl: 'https://gate.example' });
});

interface Statement {
  Effect: string;
  Action: string | string[];
  Resource: unknown;
  Condition?: unknown;
}

const listed = (value: string | string[]): string[] => [value].flat();

const statementsIn = ({ Properties }: Resource): Statement[] =>
  [...(Properties.Policies ?? []), ...(Properties.PolicyDocument ? [Properties] : [])].flatMap(
    ({ PolicyDocument }) => PolicyDocument.Statement,
  );

/** Every statement of every role, within the role or beside it. */
const allStatements = (): [id: string, Statement[]][] =>
  [...Object.entries(standard.resources('AWS::IAM::Role')), ...Object.entries(standard.resources('AWS::IAM::Policy'))].map(
    ([id, resource]) => [id, statementsIn(resource)],
  );

/** The statements of a function's role, except those that every function has: its log, and traces. */
function statementsOf(name: string): Statement[] {
  const isOwn = new RegExp(`^${logicalPrefix(name)}Role(DefaultPolicy)?[0-9A-F]{8}$`);
  const statements = allStatements().flatMap(([id, own]) => (isOwn.test(id) ? own : []));
  expect(statements.filter(({ Action }) => listed(Action)[0]?.startsWith('logs:'))).toEqual([
    {
      Effect: 'Allow',
      Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
      Resource: { 'Fn::GetAtt': [expect.stringMatching(new RegExp(`^${logicalPrefix(name)}Logs`)), 'Arn'] },
    },
  ]);
  // statements on the same resources are one in the template
  return statements.flatMap((statement) => {
    const Action = listed(statement.Action).filter((action) => !/^(logs|xray):/.test(action));
    return Action.length > 0 ? { ...statement, Action } : [];
  });
}

describe('roles', () => {
  test.each([...endpoints.filter(hasFunction), ...backgroundFunctions])(
    '$name may do what its row needs and nothing else',
    ({ name, needs }) => {
      const granted = statementsOf(name).map(({ Effect, Action, Condition }) => [Effect, listed(Action).sort(), Condition]);
      const needed = permissionsOf(needs).map(({ actions, partitions }) => [
        'Allow',
        [...actions].sort(),
        partitions && { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': partitions } },
      ]);
      // statements that differ only in their resources are one in the template
      const sorted = (list: unknown[][]) => [...new Set(list.map((entry) => JSON.stringify(entry)))].sort();
      expect(sorted(granted)).toEqual(sorted(needed));
    },
  );

  test('no action is a wildcard, and only the documented resources are', () => {
    const wild = new Set<string>();
    for (const [, statements] of allStatements()) {
      for (const { Action, Resource } of statements) {
        expect(listed(Action).filter((action) => action.includes('*'))).toEqual([]);
        if (JSON.stringify(Resource).includes('*')) for (const action of listed(Action)) wild.add(action);
      }
    }
    expect([...wild].sort()).toEqual([
      'lambda:GetAccountSettings',
      's3:DeleteObject',
      's3:GetObject',
      's3:PutObject',
      'secretsmanager:CreateSecret',
      'secretsmanager:DeleteSecret',
      'secretsmanager:GetSecretValue',
      'secretsmanager:PutSecretValue',
      'xray:PutTelemetryRecords',
      'xray:PutTraceSegments',
    ]);
  });

  test('PATs are signed with one key, only by the functions that issue them', () => {
    const signers = [...endpoints, ...backgroundFunctions].filter(({ needs }) => needs.kms?.includes('sign'));
    expect(signers.map(({ name }) => name)).toEqual(['issue-pat', 'issue-token']);
    const statements = allStatements().flatMap(([, own]) => own);
    const isOfReceipts = ({ Resource }: { Resource: unknown }) => /"(Receipt|Log)Key/.test(JSON.stringify(Resource));
    const signing = statements.filter((statement) => listed(statement.Action).includes('kms:Sign') && !isOfReceipts(statement));
    const newest = { 'Fn::GetAtt': [expect.stringMatching(/^SigningKeyb/), 'Arn'] };
    expect(signing).toEqual(signers.map(() => ({ Effect: 'Allow', Action: 'kms:Sign', Resource: newest })));
  });
});

test('the partitions are those of the keys', () => {
  const uid = 'a.example:b:v1';
  const made: Record<RecordKind, Key> = {
    service: keys.service('1'),
    serviceName: keys.serviceName('name'),
    intent: keys.intent(uid),
    listEntry: keys.listEntry('1', uid),
    namespace: keys.namespace('a.example'),
    head: keys.head(),
    log: keys.log(1),
    versions: keys.versions(1),
    agent: keys.agent('1'),
    agentKey: keys.agentKey('1'),
    agentList: keys.waitingAgents(),
    limit: keys.limit('1', 'execute'),
    call: keys.call('1', '2'),
    execution: keys.execution('1'),
    approval: keys.place('approval', '', 1),
    callQueue: keys.place('callQueue', '', 1),
    policy: keys.policy('1'),
    refreshFamily: keys.refreshFamily('1'),
    feed: keys.feed('1'),
    newReceipt: keys.newReceipt('01JWQ3K8Z5N7T9V2X4Y6B8D0FG'),
    loggedReceipt: keys.loggedReceipt('1', '2'),
    receiptLog: keys.receiptLog('1'),
    jti: keys.jti('1', '2'),
    slowCalls: keys.slowCalls('1', '2'),
    stats: keys.stats('day', 'service', 0, '1'),
    usage: keys.executed(0, 0, '1'),
    session: keys.session('1'),
    consent: keys.consent('1', '2'),
    signInCode: keys.signInCode('1'),
  };
  for (const [kind, { table, prefix }] of Object.entries(partitions)) {
    const { pk } = made[kind as RecordKind];
    expect([kind, pk.startsWith(prefix), tableOf(pk)]).toEqual([kind, true, table]);
  }
  expect(() => tableOf('STRANGER#1')).toThrow(new TypeError('no table holds partitions of this kind'));
});

test('docs/permissions.md is up to date: npm run permissions', () => {
  expect(readFileSync('docs/permissions.md', 'utf8')).toBe(renderPermissions());
});
