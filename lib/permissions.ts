import { ArnFormat, Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import { partitions, type RecordKind, type TableName } from '../functions/core/table/keys.ts';
import { acknowledge } from './acknowledge.ts';
import type { Admins } from './admins.ts';
import type { EndpointFunction } from './endpoint-function.ts';
import type { Needs, TableOperation } from './endpoints/needs.ts';
import type { FeatureResources } from './feature-stack.ts';
import { featureStacks } from './feature-stacks.ts';
import { features } from './features.ts';
import { aliasReasons, invocableArns } from './gradual-deployment.ts';
import type { SearchCollection } from './opensearch/search-collection.ts';
import { type Permission, permit, wildcardIn } from './permission.ts';
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
  ...Object.assign({}, ...features.map(({ records }) => records)),
  service: 'services',
  serviceName: 'names of services',
  listEntry: 'lists of intents',
  namespace: 'counts of namespaces',
  intent: 'intents',
  head: 'head of the log',
  log: 'log of changes',
  versions: 'earlier versions of records',
  agent: 'agents',
  agentKey: 'keys of agents',
  agentList: 'lists of agents',
  limit: 'limit counters',
  call: 'idempotent calls',
  execution: 'ids of deferred calls',
  approval: 'calls that wait for approval',
  callQueue: 'background calls',
  policy: 'earlier policies',
  feed: 'progress of the feed of a search collection',
  snapshot: 'lease of the run that saves a snapshot',
  jti: 'used `jti` values',
  slowCalls: 'slow calls',
  stats: 'totals of executions',
  usage: 'executions to count',
  session: 'sessions of signed-in people',
  consent: 'accepted policies',
  signInCode: 'authorization codes',
  refreshFamily: 'families of refresh tokens',
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
  /** from which the keys that sign calls are derived */
  callKey: IKey;
  /** absent if the setting `search` is `opensearch` */
  snapshots?: Bucket | undefined;
  /** present if the setting `search` is `opensearch` */
  collection?: SearchCollection | undefined;
  features: readonly FeatureResources[];
  credentialPrefix: string;
  /** of the metrics extracted from logs */
  metricNamespace: string;
  /** functions created so far, by the names of their rows */
  functions?: ReadonlyMap<string, Pick<EndpointFunction, 'lambda' | 'alias'>>;
}

/** The permissions of each need, except tables. */
const requirements = {
  sign: [permit('kms:Sign', 'newest signing key', 'signs PATs')],
  publicKey: [permit('kms:GetPublicKey', 'every signing key', 'reads the keys that verify PATs')],
  callKey: [permit('kms:GenerateMac', 'call key', 'derives the keys that sign calls')],
  invokes: {
    'issue-pat': permit('lambda:InvokeFunction', 'function issue-pat', 'requests PATs, which it cannot sign'),
    'search-intents': permit('lambda:InvokeFunction', 'function search-intents', 'suggests intents similar to an unknown one'),
    'run-deferred-call': permit('lambda:InvokeFunction', 'function run-deferred-call', 'starts deferred calls'),
    'snapshot-search-index': permit('lambda:InvokeFunction', 'function snapshot-search-index', 'has a snapshot saved during a bulk'),
  },
  accountLimits: [
    permit('lambda:GetAccountSettings', 'account', 'compares the reserved concurrency with the account limits'),
    permit('apigateway:GET', 'settings of API Gateway', 'checks for the role with which API Gateway writes logs'),
  ],
  announces: [permit('events:PutEvents', 'event bus', 'announces calls that wait for approval')],
  // Without permission to list a bucket, reading a missing object returns 403 instead of 404.
  snapshots: {
    read: [
      permit('s3:GetObject', 'snapshots', 'opens the search index'),
      permit('s3:ListBucket', 'snapshot bucket', 'distinguishes a missing snapshot from a forbidden one'),
    ],
    write: [
      permit('s3:GetObject s3:PutObject s3:DeleteObject', 'snapshots', 'saves the search index'),
      permit('s3:ListBucket', 'snapshot bucket', 'distinguishes a missing snapshot from a forbidden one'),
    ],
  },
  // The collection's data access policy limits the operations.
  collection: {
    read: [permit('aoss:APIAccessAll', 'search collection', 'searches')],
    write: [permit('aoss:APIAccessAll', 'search collection', 'updates the search index')],
  },
  // Secrets are created and deleted with services, so permissions use a name prefix.
  credentials: {
    read: [permit('secretsmanager:GetSecretValue', 'service secrets', 'calls services with their credentials')],
    write: [
      permit(
        'secretsmanager:CreateSecret secretsmanager:PutSecretValue secretsmanager:DeleteSecret',
        'service secrets',
        'sets and removes the credentials of services, which it cannot read',
      ),
    ],
  },
} satisfies Record<string, Permission[] | Record<string, Permission | Permission[]>>;

/** A function's permissions: exactly what its needs require. */
export const permissionsOf = (needs: Needs): Permission[] => [
  ...tablePermissions(needs.table ?? {}),
  ...(needs.kms?.includes('sign') ? requirements.sign : []),
  ...(needs.kms?.includes('publicKey') ? requirements.publicKey : []),
  ...(needs.callKey ? requirements.callKey : []),
  ...(needs.invokes ?? []).map((name) => requirements.invokes[name]),
  ...(needs.accountLimits ? requirements.accountLimits : []),
  ...(needs.announces ? requirements.announces : []),
  ...(needs.snapshots ? requirements.snapshots[needs.snapshots] : []),
  ...(needs.collection ? requirements.collection[needs.collection] : []),
  ...featureStacks.flatMap((feature) => feature.permissions(needs)),
  ...(needs.credentials ? requirements.credentials[needs.credentials] : []),
];

/**
 * One permission per action for all its partitions, because one statement must cover a batch over several partitions and tables. Actions on
 * the same partitions share a permission.
 */
function tablePermissions(table: NonNullable<Needs['table']>): Permission[] {
  const spans = (Object.keys(actionOf) as TableOperation[]).flatMap((operation) => {
    const kindsIn = (...tables: TableName[]) =>
      (Object.keys(partitions) as RecordKind[]).filter(
        (kind) => tables.includes(partitions[kind].table) && table[kind]?.includes(operation),
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
  const { tables, signingKeys, callKey, snapshots, collection, credentialPrefix, functions } = made;
  const { account, partition, region } = Stack.of(tables.registry);
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
    'call key': [callKey.keyArn],
    'function issue-pat': functionArns('issue-pat'),
    'function search-intents': functionArns('search-intents'),
    'function run-deferred-call': functionArns('run-deferred-call'),
    'function snapshot-search-index': functionArns('snapshot-search-index'),
    account: ['*'],
    'event bus': [`arn:${partition}:events:${region}:${account}:event-bus/default`],
    'settings of API Gateway': [`arn:${partition}:apigateway:${region}::/account`],
    snapshots: snapshots ? [`${snapshots.bucketArn}/${snapshotKeys}`] : [],
    'snapshot bucket': snapshots ? [snapshots.bucketArn] : [],
    'search collection': collection ? [collection.arn] : [],
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

/** The keys of features with which a function with these needs may sign. */
export const keysFor = (needs: Needs, features: readonly FeatureResources[]): IKey[] =>
  features.flatMap(({ keys = {} }) => Object.values(keys).flatMap(({ key, isSigner }) => (isSigner(needs) ? [key] : [])));

export function grantNeeds(
  { role, permissions }: Pick<EndpointFunction, 'role' | 'permissions'>,
  needs: Needs,
  resources: Resources,
): void {
  const arns = arnsOf(resources);
  const isNamed = needs.kms?.includes('sign') || needs.callKey || keysFor(needs, resources.features).length > 0;
  for (const { actions, on, partitions } of permissionsOf(needs)) {
    const resourceArns = arns[on] ?? [];
    if (resourceArns.length === 0) continue;
    const conditions = { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': partitions } };
    const statement = new PolicyStatement({ actions, resources: resourceArns, ...(partitions && { conditions }) });
    // Key policies name the roles that use them: permissions inside such a role would make a circular dependency with the key, or a function that uses it.
    if (isNamed && /key$|^function /.test(on)) role.addToPolicy(statement);
    else permissions.addStatements(statement);
  }
  if (needs.collection) resources.collection?.allow(needs.collection, role);
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
