import { join } from 'node:path';
import { CfnRule, CustomResource, Duration, Fn, Stack, Stage } from 'aws-cdk-lib';
import type { SpecRestApi } from 'aws-cdk-lib/aws-apigateway';
import { type Dashboard, Metric, type MetricOptions, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { IUserPool } from 'aws-cdk-lib/aws-cognito';
import type { Connections, IConnectable } from 'aws-cdk-lib/aws-ec2';
import { type EventPattern, Rule, type RuleProps, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as LambdaTarget } from 'aws-cdk-lib/aws-events-targets';
import { type IManagedPolicy, PermissionsBoundary, type PolicyDocument } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct, type IConstruct } from 'constructs';
import { variables } from '../functions/core/runtime/environment.ts';
import { acknowledge } from './acknowledge.ts';
import { Admins, type GivenPool } from './admins.ts';
import { Alarms } from './alarms.ts';
import { Api } from './api.ts';
import { createDashboard } from './dashboard.ts';
import { encryptLogs, useDataKey } from './data-key.ts';
import { EndpointFunction } from './endpoint-function.ts';
import type { BackgroundFunction } from './endpoints/endpoint.ts';
import type { Needs } from './endpoints/needs.ts';
import { backgroundFunctions, backgroundWithCollection, type Endpoint, endpointsWith, executing, hasFunction } from './endpoints.ts';
import { environmentOf } from './environment.ts';
import './feature-stacks.ts';
import { type Build, writeFunctions } from './documents/prepared-files.ts';
import { featureStacks } from './feature-stacks.ts';
import { aliasNameOf, GradualDeployment, gradualFunctions } from './gradual-deployment.ts';
import { passLogLines } from './log-lines.ts';
import type { GateNames } from './names.ts';
import { Network } from './network.ts';
import { SearchCollection } from './opensearch/search-collection.ts';
import { grantNeeds, keysFor, type Resources } from './permissions.ts';
import { readTryPolicy } from './policy.ts';
import type { Settings } from './settings.ts';
import { allowCallKey, allowSigning, createCallKey, createSigningKeys, signingPolicy } from './signing-keys.ts';
import { createSnapshotBucket, indexSize } from './snapshots.ts';
import { createTables, type Tables } from './tables.ts';
import { limitTemplateSize } from './template-size.ts';

const isExecuting = (name: string): name is keyof Settings['reservedConcurrency'] => (executing as readonly string[]).includes(name);

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

/** The whole gate: an API with one Lambda function per row of the endpoint table. */
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
  private readonly settings: Settings;
  private readonly network: Network | undefined;
  private readonly rules: Rule[] = [];

  constructor(scope: Construct, id: string, { settings, policy, build, names, given = {} }: GateProps) {
    super(scope, id);
    this.settings = settings;
    this.network = settings.vpc && new Network(this, 'Network', settings.vpc, settings);
    const { name, slug } = names;

    const dataKey = useDataKey(this, settings, given.encryptionKey);
    const tables = createTables(this, settings, dataKey);
    const signingKeys = createSigningKeys(this, settings, name);
    const callKey = createCallKey(this, settings, name);
    const isCollection = settings.search === 'opensearch';
    const snapshots = isCollection ? undefined : createSnapshotBucket(this, settings, dataKey);
    const collection = isCollection ? new SearchCollection(this, 'SearchCollection', settings) : undefined;
    const features = featureStacks.flatMap((feature) => feature.create(this, { settings, gateName: name, dataKey }) ?? []);
    const admins = new Admins(this, 'Admins', settings, slug, given);
    const credentialPrefix = `intent-gate/${slug}/services/`;
    const functions = this.createFunctions(
      { tables, admins, signingKeys, callKey, credentialPrefix, metricNamespace: name, snapshots, collection, features },
      [tables.registry, tables.activity, admins, ...signingKeys, callKey, ...features.flatMap(({ data }) => data)],
      this.bundle(policy, readTryPolicy(settings), build, name),
      aliasNameOf(policy, settings),
    );
    const api = new Api(this, 'Api', functions, settings, name);
    const { rest, accessLog } = api;
    // Rules come after the API: if creation failed after a function had written to a bucket, the bucket could not be deleted.
    for (const rule of this.rules) rule.node.addDependency(api);
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
    const policyFor = (isSigner: (needs: Needs) => unknown) =>
      signingPolicy(
        [...this.rows.endpoints, ...this.rows.background].flatMap((row) =>
          isSigner(row.needs) ? (functions.get(row.name)?.role ?? []) : [],
        ),
      );
    this.keyPolicies = {
      signingKeys: policyFor(({ kms }) => kms?.includes('sign')),
      ...Object.fromEntries(
        features.flatMap(({ keys = {} }) => Object.entries(keys).map(([name, { isSigner }]) => [name, policyFor(isSigner)])),
      ),
    };
    this.metricNamespace = name;
    limitTemplateSize(Stack.of(this));
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

  private get rows(): { endpoints: readonly Endpoint[]; background: readonly BackgroundFunction[] } {
    const deployed = endpointsWith(this.settings).filter(hasFunction);
    const isUsed = ({ onlyWith, isUsed }: BackgroundFunction) =>
      (isUsed?.(this.settings) ?? true) && (onlyWith === undefined || this.settings[onlyWith]);
    if (this.settings.search === 'sqlite') return { endpoints: deployed, background: backgroundFunctions.filter(isUsed) };
    const withCollection = deployed.map((row) => ({ ...row, needs: row.needsWithCollection ?? row.needs }));
    return { endpoints: withCollection, background: backgroundWithCollection.filter(isUsed) };
  }

  /** @param data - created only once the deployment has been approved */
  private createFunctions(
    resources: Resources,
    data: readonly IConstruct[],
    codeOf: (name: string) => Code,
    aliasName: string,
  ): Map<string, EndpointFunction> {
    const { settings } = this;
    const functions = new Map<string, EndpointFunction>();
    const create = (row: Endpoint | BackgroundFunction, credential: Endpoint['credential']) => {
      const reserved = isExecuting(row.name) ? settings.reservedConcurrency[row.name] : 0;
      const memoryMb = isExecuting(row.name) ? settings.executionMemoryMb : row.memoryMb;
      const made = new EndpointFunction(this, row.name, {
        ...row,
        code: codeOf(row.name),
        environment: {
          ...environmentOf(row.needs, credential, settings, { ...resources, functions }),
          ...(reserved > 0 && { [variables.reservedConcurrency]: String(reserved) }),
        },
        settings,
        memoryMb,
        ...(row.needs.snapshots && indexSize(settings, memoryMb)),
        reservedConcurrency: reserved,
        network: row.needs.egress === 'intents' ? this.network : undefined,
      });
      grantNeeds(made, row.needs, { ...resources, functions });
      if (settings.gradualDeployment && gradualFunctions[row.name]) made.publish(aliasName);
      if (row.needs.kms?.includes('sign')) allowSigning(resources.signingKeys, made.role);
      if (row.needs.callKey) allowCallKey(resources.callKey, made.role);
      allowSigning(keysFor(row.needs, resources.features), made.role);
      return made;
    };
    // Endpoints need the ARNs of the functions that they start, so these come first.
    for (const row of this.rows.background.filter(({ isStarted }) => isStarted)) {
      const made = create(row, 'none');
      functions.set(row.name, made);
      if (row.isStarted !== 'once') continue;
      // Lambda must not retry, because the first run may have sent the call. The gate itself restarts calls that were not begun.
      made.lambda.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(15) });
      acknowledge(made.lambda, {
        'Serverless-LambdaAsyncFailureDestination':
          'A call that was not started is started when the agent polls its state; an interrupted call must not be repeated.',
      });
    }
    for (const row of this.rows.endpoints) functions.set(row.name, create(row, row.credential));
    for (const row of this.rows.background) {
      const made = functions.get(row.name) ?? create(row, 'none');
      functions.set(row.name, made);
      if (row.everyMinutes) this.run(made, 'Schedule', row.summary, { schedule: Schedule.rate(Duration.minutes(row.everyMinutes)) });
      if (row.logLines) passLogLines(made, row.logLines, functions);
      if (row.afterDeployment) this.run(made, 'AfterDeployment', row.summary, { eventPattern: this.deployed });
    }
    const guard = functions.get('guard-signing-keys');
    const approval = guard && this.requestApproval(guard);
    for (const one of [...functions.values(), ...data]) if (approval && one !== guard) one.node.addDependency(approval);
    return functions;
  }

  /** A resource that succeeds if the guard function approves the deployment. */
  private requestApproval(guard: EndpointFunction): CustomResource {
    const { signingKeys, voidPats, adopt, manageApiLogRole } = this.settings;
    return new CustomResource(this, 'SigningKeyGuard', {
      resourceType: 'Custom::SigningKeyGuard',
      serviceToken: guard.lambda.functionArn,
      serviceTimeout: Duration.minutes(2),
      properties: {
        SigningKeys: signingKeys,
        VoidPats: String(voidPats),
        ManageApiLogRole: String(manageApiLogRole),
        ...(adopt && { Adopt: adopt }),
      },
    });
  }

  /** CloudFormation's event for a completed deployment of this stack. */
  private get deployed(): EventPattern {
    return {
      source: ['aws.cloudformation'],
      detailType: ['CloudFormation Stack Status Change'],
      detail: { 'stack-id': [Stack.of(this).stackId], 'status-details': { status: ['CREATE_COMPLETE', 'UPDATE_COMPLETE'] } },
    };
  }

  private run(scheduled: EndpointFunction, id: string, summary: string, when: Pick<RuleProps, 'schedule' | 'eventPattern'>): void {
    const targets = [new LambdaTarget(scheduled.lambda, { retryAttempts: 2 })];
    const rule = new Rule(scheduled, id, { description: `Intent Gate: ${summary}`, ...when, targets });
    this.rules.push(rule);
    acknowledge(rule, {
      'Serverless-EventBusDLQ': 'The next run makes up for a failed one, and an alarm reports failures.',
    });
  }

  /** Bundles the functions beside the template, unless this synthesis omits bundling (context `aws:cdk:bundling-stacks`). */
  private bundle(policy: string, tryPolicy: string | undefined, build: Build, name: string): (name: string) => Code {
    if (!Stack.of(this).bundlingRequired) return this.refuseDeployment();
    const folder = join(Stage.of(this)?.outdir ?? 'cdk.out', 'dist', name);
    writeFunctions([...this.rows.endpoints, ...this.rows.background], folder, {
      policy,
      tryPolicy,
      settings: this.settings,
      build,
    });
    return (row) => Code.fromAsset(join(folder, row));
  }

  /** `cdk ls` and `cdk bootstrap` synthesize without code. This rule makes CloudFormation refuse to deploy such a template. */
  private refuseDeployment(): (name: string) => Code {
    new CfnRule(this, 'HasCode', {
      assertions: [
        {
          assert: Fn.conditionEquals('synthesized without code', 'deployable'),
          assertDescription:
            'This template was synthesized without the code of its functions. Run "npx cdk deploy", which synthesizes it anew.',
        },
      ],
    });
    return () => Code.fromInline('// synthesized without code');
  }
}
