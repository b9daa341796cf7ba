import { ArnFormat, Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import { partitions, type RecordKind, type TableName } from '../functions/core/table/keys.ts';
import { acknowledge } from './acknowledge.ts';
import type { Admins } from './admins.ts';
import type { EndpointFunction } from './endpoint-function.ts';
import type { Needs, TableOperation } from './endpoints/needs.ts';
import type { FeatureKey, FeatureResources } from './feature-resources.ts';
import { featureStacks } from './feature-stacks.ts';
import { declarations } from './features.ts';
import { aliasReasons, invocableArns } from './gradual-deployment.ts';
import { type Permission, permit, wildcardIn } from './permission.ts';
import { allowUse } from './signing-keys.ts';
import type { Tables } from './tables.ts';

const actionOf: Record<TableOperation, string> = {
  get: 'dynamodb:GetItem',
  getAll: 'dynamodb:BatchGetItem',
  query: 'dynamodb:Query',
  put: 'dynamodb:PutItem',
  update: 'dynamodb:UpdateItem',
  delete: 'dynamodb:DeleteItem',
  writeAll: 'dynamodb:BatchWriteItem',
  check: 'dynamodb:ConditionCheckItem',
};

const tableNames = ['registry', 'activity'] as const satisfies readonly TableName[];

const kindNames: Partial<Record<RecordKind, string>> = {
  service: 'services',
  serviceName: 'names of services',
  listEntry: 'lists of intents',
  namespace: 'counts of namespaces',
  intent: 'intents',
  head: 'head of the log',
  log: 'log of changes',
  versions: 'earlier versions of records',
  publishedPolicy: 'published policies',
  agent: 'agents',
  agentKey: 'keys of agents',
  agentList: 'lists of agents',
  limit: 'limit counters',
  call: 'idempotent calls',
  execution: 'ids of deferred calls',
  callQueue: 'background calls',
  earlierPolicy: 'earlier policies',
  snapshot: 'lease of the run that saves a snapshot',
  jti: 'used `jti` values',
  slowCalls: 'slow calls',
  executed: 'executions to count',
  ...Object.assign({}, ...declarations.map(({ records }) => records)),
};

const verbs: Record<TableOperation, string> = {
  get: 'reads',
  getAll: 'reads in batches',
  query: 'lists',
  put: 'writes',
  update: 'changes',
  delete: 'deletes',
  writeAll: 'writes and deletes in batches',
  check: 'checks',
};

/** The prefix of snapshots in their bucket. */
const snapshotKeys = 'search-index/*';

/** Resources that functions get access to, or whose names are in their environments. */
export interface Resources {
  tables: Tables;
  admins: Admins;
  signingKeys: readonly IKey[];
  /** absent if another engine searches */
  snapshots?: Bucket | undefined;
  features: readonly FeatureResources[];
  credentialPrefix: string;
  /** of the metrics extracted from logs */
  metricNamespace: string;
  /** functions created so far, by the names of their rows */
  functions?: ReadonlyMap<string, Pick<EndpointFunction, 'lambda' | 'alias'>>;
}

const invoking = {
  'issue-pat': 'requests PATs, which it cannot sign',
  'search-intents': 'suggests intents similar to an unknown one',
  'run-deferred-call': 'starts deferred calls',
  'snapshot-search-index': 'has a snapshot saved during a bulk import',
} as const;

const snapshotUses = { read: ['s3:GetObject', 'opens'], write: ['s3:GetObject s3:PutObject s3:DeleteObject', 'saves'] } as const;

// Secrets are created and deleted with services, so permissions use a name prefix.
const secretUses = {
  read: ['secretsmanager:GetSecretValue', 'calls services with their credentials'],
  write: [
    'secretsmanager:CreateSecret secretsmanager:PutSecretValue secretsmanager:DeleteSecret',
    'sets and removes the credentials of services, which it cannot read',
  ],
} as const;

/** A function's permissions: exactly what its needs require. */
export function permissionsOf(needs: Needs): Permission[] {
  const { table = {}, kms = [], invokes = [], accountLimits, snapshots, credentials } = needs;
  const when = (applies: unknown, ...permissions: Permission[]) => (applies ? permissions : []);
  const [snapshotActions, snapshotUse] = snapshotUses[snapshots ?? 'read'];
  return [
    ...tablePermissions(table),
    ...when(kms.includes('sign'), permit('kms:Sign', 'newest signing key', 'signs PATs')),
    ...when(kms.includes('publicKey'), permit('kms:GetPublicKey', 'every signing key', 'reads the keys that verify PATs')),
    ...invokes.map((name) => permit('lambda:InvokeFunction', `function ${name}`, invoking[name])),
    ...when(
      accountLimits,
      permit('lambda:GetAccountSettings', 'account', 'compares the reserved concurrency with the account limits'),
      permit('apigateway:GET', 'settings of API Gateway', 'checks for the role with which API Gateway writes logs'),
    ),
    // Without permission to list a bucket, reading a missing object returns 403 instead of 404.
    ...when(
      snapshots,
      permit(snapshotActions, 'snapshots', `${snapshotUse} the search index`),
      permit('s3:ListBucket', 'snapshot bucket', 'distinguishes a missing snapshot from a forbidden one'),
    ),
    ...(credentials ? [permit(secretUses[credentials][0], 'service secrets', secretUses[credentials][1])] : []),
    ...featureStacks.flatMap((feature) => feature.permissions?.(needs) ?? []),
  ];
}

/**
 * One permission per action for all its partitions, because one statement must cover a batch over several partitions and tables. Actions on
 * the same partitions share a permission.
 */
function tablePermissions(table: NonNullable<Needs['table']>): Permission[] {
  const stray = Object.keys(table).find((kind) => !(kind in partitions));
  if (stray) throw new TypeError(`no partitions of the kind ${stray}: the declaration must import the module that defines them`);
  const spans = (Object.keys(actionOf) as TableOperation[]).flatMap((operation) => {
    const kindsIn = (...tables: TableName[]) =>
      // in the order of the declarations, which does not depend on the order in which modules were loaded
      (Object.keys(kindNames) as RecordKind[]).filter(
        (kind) => table[kind]?.includes(operation) && tables.includes(partitions[kind].table),
      );
    const groups = operation === 'getAll' ? [kindsIn(...tableNames)] : tableNames.map((name) => kindsIn(name));
    return groups.flatMap((kinds) => (kinds.length > 0 ? [{ operation, kinds }] : []));
  });
  const byKinds = Map.groupBy(spans, ({ kinds }) => kinds.join());
  return [...byKinds.values()].map((group) => {
    const kinds = group[0]?.kinds ?? [];
    const operations = group.map(({ operation }) => operation);
    const tables = new Set(kinds.map((kind) => partitions[kind].table));
    return {
      actions: operations.map((operation) => actionOf[operation]),
      on: tables.size === 1 ? `${[...tables][0] ?? 'registry'} table` : 'both tables',
      partitions: kinds.map((kind) => `${partitions[kind].prefix}*`),
      why: `${operations.map((operation) => verbs[operation]).join(', ')}: ${kinds.map((kind) => kindNames[kind]).join(', ')}`,
    };
  });
}

const arnsOf = (made: Resources): Record<string, string[]> => {
  const { tables, signingKeys, snapshots, credentialPrefix, functions } = made;
  const { partition, region } = Stack.of(tables.registry);
  const keyArns = signingKeys.map(({ keyArn }) => keyArn);
  const functionArns = (name: string) => {
    const made = functions?.get(name);
    return made ? invocableArns(name, made) : [];
  };
  return {
    'registry table': [tables.registry.tableArn],
    'activity table': [tables.activity.tableArn],
    'both tables': [tables.registry.tableArn, tables.activity.tableArn],
    'newest signing key': keyArns.slice(0, 1),
    'every signing key': keyArns,
    ...Object.fromEntries(Object.keys(invoking).map((name) => [`function ${name}`, functionArns(name)])),
    account: ['*'],
    'settings of API Gateway': [`arn:${partition}:apigateway:${region}::/account`],
    snapshots: snapshots ? [`${snapshots.bucketArn}/${snapshotKeys}`] : [],
    'snapshot bucket': snapshots ? [snapshots.bucketArn] : [],
    'service secrets': [
      Stack.of(tables.registry).formatArn({
        service: 'secretsmanager',
        resource: 'secret',
        resourceName: `${credentialPrefix}*`,
        arnFormat: ArnFormat.COLON_RESOURCE_NAME,
      }),
    ],
    ...Object.assign({}, ...made.features.map(({ arns }) => arns)),
  };
};

/** The keys of features that a function with these needs may use. */
export const keysFor = (needs: Needs, features: readonly FeatureResources[]): FeatureKey[] =>
  features.flatMap(({ keys = {} }) => Object.values(keys)).filter(({ isUser }) => isUser(needs));

/** Grants what a function needs in its role, in the policies of keys and in those of features. */
export function grantNeeds({ role, permissions }: EndpointFunction, needs: Needs, resources: Resources): void {
  const arns = arnsOf(resources);
  const keys: Pick<FeatureKey, 'key' | 'action'>[] = [
    ...(needs.kms?.includes('sign') ? resources.signingKeys.map((key) => ({ key })) : []),
    ...keysFor(needs, resources.features),
  ];
  for (const { key, action } of keys) allowUse(key, role, action);
  for (const { actions, on, partitions } of permissionsOf(needs)) {
    const resourceArns = arns[on] ?? [];
    if (resourceArns.length === 0) continue;
    const conditions = { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': partitions } };
    const statement = new PolicyStatement({ actions, resources: resourceArns, ...(partitions && { conditions }) });
    // Key policies name the roles that use them: permissions inside such a role would make a circular dependency with the key, or a function that uses it.
    if (keys.length > 0 && /key$|^function /.test(on)) role.addToPolicy(statement);
    else permissions.addStatements(statement);
  }
  for (const feature of resources.features) feature.admit?.(needs, role);
  acknowledge(role, wildcardReasons(resources));
}

/** Reasons for the only wildcards, which cover names unknown when the stack is created, or that change. */
function wildcardReasons({ snapshots, features: made, credentialPrefix, functions }: Resources): Record<string, string> {
  const secrets = `arn:<AWS::Partition>:secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:${credentialPrefix}*`;
  return {
    ...(functions && aliasReasons(functions)),
    ...(snapshots && { [wildcardIn(snapshots, snapshotKeys)]: 'Snapshot names are generated, all under this prefix.' }),
    ...Object.assign({}, ...made.map(({ wildcards }) => wildcards)),
    [`AwsSolutions-IAM5[Resource::${secrets}]`]: 'Secrets are named after their services, all under this prefix.',
  };
}
