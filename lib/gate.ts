import { Stack } from 'aws-cdk-lib';
import type { SpecRestApi } from 'aws-cdk-lib/aws-apigateway';
import { type Dashboard, Metric, type MetricOptions, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { IUserPool } from 'aws-cdk-lib/aws-cognito';
import type { Connections, IConnectable } from 'aws-cdk-lib/aws-ec2';
import { type IManagedPolicy, PermissionsBoundary, type PolicyDocument } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct, type IConstruct } from 'constructs';
import { Admins, type GivenPool } from './admins.ts';
import { Alarms } from './alarms.ts';
import { Api } from './api.ts';
import type { Build } from './build.ts';
import { createDashboard } from './dashboard.ts';
import { encryptLogs, useDataKey } from './data-key.ts';
import type { EndpointFunction } from './endpoint-function.ts';
import type { Needs } from './endpoints/needs.ts';
import { backgroundWith, endpointsWith, hasFunction, isReplaced } from './endpoints.ts';
import { type FeatureMembers, featureStacks } from './feature-stacks.ts';
import { prepareCode } from './function-code.ts';
import { createFunctions } from './functions.ts';
import { aliasNameOf, GradualDeployment } from './gradual-deployment.ts';
import type { GateNames } from './names.ts';
import { Network } from './network.ts';
import type { Settings } from './settings.ts';
import { createSigningKeys, signingPolicy } from './signing-keys.ts';
import { createSnapshotBucket } from './snapshots.ts';
import { createTables, type Tables } from './tables.ts';

/** Resources that an embedding app may provide instead of having them created. */
export interface GivenParts extends GivenPool {
  /** receives the alarms; created if left out. The statement that lets CloudWatch publish is added to its policy */
  alarmTopic?: ITopic;
  /** encrypts tables, snapshots and logs; the necessary statements are added to its policy unless it is imported */
  encryptionKey?: IKey;
  /** of all roles */
  permissionsBoundary?: IManagedPolicy;
}

export interface GateProps {
  settings: Settings;
  /** text of the usage policy */
  policy: string;
  build: Build;
  names: GateNames;
  given?: GivenParts;
}

export interface Gate extends FeatureMembers {}

/** The whole gate: an API with one Lambda function per row of the endpoint table. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor sets these members
export class Gate extends Construct implements IConnectable {
  /** the REST API of API Gateway */
  readonly api: SpecRestApi;
  /** base URL that agents call, without a slash at the end */
  readonly url: string;
  /** the two DynamoDB tables, `registry` and `activity` */
  readonly tables: Tables;
  /** by endpoint, such as `execute-intent` */
  readonly functions: ReadonlyMap<string, EndpointFunction>;
  /** the topic that receives the alarms, given or created */
  readonly alarmTopic: ITopic;
  /** the user pool of the admins, given, adopted or created */
  readonly userPool: IUserPool;
  /** app client with which people get admin tokens */
  readonly adminClientId: string;
  /** the CloudWatch dashboard */
  readonly dashboard: Dashboard;
  /** the KMS keys of PATs, in the order of the setting `signingKeys`: the first signs, all verify */
  readonly signingKeys: readonly IKey[];
  /** the KMS key that encrypts tables, snapshots and logs; undefined if AWS manages their keys */
  readonly dataKey: IKey | undefined;
  /** the policies that adopted keys need, because a stack cannot set the policy of a key that it did not create */
  readonly keyPolicies: Readonly<Record<string, PolicyDocument>>;
  /** namespace of the metrics that are extracted from logs */
  readonly metricNamespace: string;
  private readonly network: Network | undefined;

  constructor(scope: Construct, id: string, { settings, policy, build, names, given = {} }: GateProps) {
    super(scope, id);
    this.network = settings.vpc && new Network(this, 'Network', settings.vpc, settings);
    const { name, slug } = names;

    const dataKey = useDataKey(this, settings, given.encryptionKey);
    const tables = createTables(this, settings, dataKey);
    const signingKeys = createSigningKeys(this, settings, name);
    const isIndexed = !isReplaced('snapshot-search-index', settings);
    const snapshots = isIndexed ? createSnapshotBucket(this, settings, dataKey) : undefined;
    const admins = new Admins(this, 'Admins', settings, slug, given);
    const context = { settings, gateName: name, dataKey, admins };
    const features = featureStacks.flatMap((feature) => feature.create?.(this, context) ?? []);
    const credentialPrefix = `intent-gate/${slug}/services/`;
    const endpoints = endpointsWith(settings).filter(hasFunction);
    const rows = [...endpoints, ...backgroundWith(settings)];
    const { functions, rules } = createFunctions(this, {
      settings,
      rows: { endpoints, background: backgroundWith(settings) },
      resources: { tables, admins, signingKeys, credentialPrefix, metricNamespace: name, snapshots, features },
      data: [tables.registry, tables.activity, admins, ...signingKeys, ...features.flatMap(({ data = [] }): readonly IConstruct[] => data)],
      network: this.network,
      codeOf: prepareCode(this, name, rows, { settings, policy, build }),
      aliasName: aliasNameOf(policy, settings),
    });
    const api = new Api(this, 'Api', functions, settings, name);
    const { rest, accessLog } = api;
    // Rules come after the API: if creation failed after a function had written to a bucket, the bucket could not be deleted.
    for (const rule of rules) rule.node.addDependency(api);
    const alarms = new Alarms(this, 'Alarms', { accessLog, tables, functions, namespace: name, settings, topic: given.alarmTopic });
    if (settings.gradualDeployment) new GradualDeployment(this, 'GradualDeployment', functions, (wanted) => alarms.named(wanted));
    if (dataKey) encryptLogs(this, dataKey);
    if (given.permissionsBoundary) this.applyBoundary(given.permissionsBoundary);

    this.api = rest;
    this.url = settings.publicBaseUrl ?? rest.url.replace(/\/$/, '');
    this.tables = tables;
    this.functions = functions;
    this.alarmTopic = alarms.topic;
    this.userPool = admins.pool;
    this.adminClientId = admins.people.userPoolClientId;
    this.dashboard = createDashboard(this, { rest, tables, functions, namespace: name });
    this.signingKeys = signingKeys;
    this.dataKey = dataKey;
    for (const { members } of features) Object.assign(this, members);
    const policyFor = (isUser: (needs: Needs) => unknown) =>
      signingPolicy(rows.flatMap((row) => (isUser(row.needs) ? (functions.get(row.name)?.role ?? []) : [])));
    const signing = features.flatMap(({ keys = {} }) => Object.entries(keys)).filter(([, { action }]) => action === undefined);
    this.keyPolicies = {
      signingKeys: policyFor(({ kms }) => kms?.includes('sign')),
      ...Object.fromEntries(signing.map(([setting, { isUser }]) => [setting, policyFor(isUser)])),
    };
    this.metricNamespace = name;
  }

  /**
   * A metric that is extracted from the logs, as a sum over five minutes unless `options` say otherwise.
   * @param metricName - such as `Refusals` (dimension `code`, an error code), `IssueFailures` or `GatewayFailures`
   * @param dimensionsMap - such as `{ code: 'SERVICE_UNAVAILABLE' }`
   */
  metric(metricName: string, dimensionsMap: Record<string, string> = {}, options: MetricOptions = {}): Metric {
    return new Metric({ namespace: this.metricNamespace, metricName, dimensionsMap, statistic: Stats.SUM, ...options });
  }

  /**
   * The security groups of the functions that call intents.
   * @throws TypeError without the setting `vpc`
   */
  get connections(): Connections {
    if (!this.network) throw new TypeError('connections: only a gate with vpc has security groups');
    return this.network.connections;
  }

  /** Applies the boundary to every role, including that of the CDK function that empties buckets, which is outside this construct. */
  private applyBoundary(boundary: IManagedPolicy): void {
    const emptying = Stack.of(this).node.tryFindChild('Custom::S3AutoDeleteObjectsCustomResourceProvider');
    for (const roles of [this, ...(emptying ? [emptying] : [])]) PermissionsBoundary.of(roles).apply(boundary);
  }
}
