import { join } from 'node:path';
import { CfnOutput, CfnRule, CustomResource, Duration, Fn, Stack, Stage } from 'aws-cdk-lib';
import type { Dashboard } from 'aws-cdk-lib/aws-cloudwatch';
import { type EventPattern, Rule, type RuleProps, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as LambdaTarget } from 'aws-cdk-lib/aws-events-targets';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type { Construct, IConstruct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { Admins } from './admins.ts';
import { Alarms } from './alarms.ts';
import { Api } from './api.ts';
import { bundleFunctions, requireSources } from './bundle.ts';
import { createDashboard } from './dashboard.ts';
import { EndpointFunction } from './endpoint-function.ts';
import { type BackgroundFunction, backgroundFunctions, backgroundWithCollection, type Endpoint, endpointsWith } from './endpoints.ts';
import { environmentOf, type Parts } from './environment.ts';
import { grantNeeds, type Resources } from './permissions.ts';
import { readPolicy } from './policy.ts';
import { prepareFiles } from './prepared-files.ts';
import { SearchCollection } from './search-collection.ts';
import type { Settings } from './settings.ts';
import { allowSigning, createSigningKeys, signingPolicy } from './signing-keys.ts';
import { createSnapshotBucket, indexSize } from './snapshots.ts';
import { createTables } from './tables.ts';

const isReserved = (name: string): name is keyof Settings['reservedConcurrency'] => name === 'execute-intent' || name === 'mcp';

/** The whole gate: one Lambda for each row of the endpoint table, behind one API. */
export class IntentGate extends Stack {
  private readonly settings: Settings;

  constructor(scope: Construct, id: string, settings: Settings) {
    const stackName = settings.stage === 'production' ? 'IntentGate' : `IntentGate-${settings.stage}`;
    super(scope, id, { stackName, description: `Intent Gate (${settings.stage})`, terminationProtection: settings.retainData });
    this.settings = settings;

    const tables = createTables(this, settings);
    const signingKeys = createSigningKeys(this, settings);
    const isCollection = settings.search === 'opensearch';
    const snapshots = isCollection ? undefined : createSnapshotBucket(this, settings);
    const collection = isCollection ? new SearchCollection(this, 'SearchCollection', settings) : undefined;
    const admins = new Admins(this, 'Admins', settings);
    const credentialPrefix = `intent-gate/${settings.stage}/services/`;
    const functions = this.createFunctions(
      {
        tableNames: { registry: tables.registry.tableName, activity: tables.activity.tableName },
        signingKeyArns: signingKeys.map(({ keyArn }) => keyArn),
        snapshotBucketName: snapshots?.bucketName,
        searchCollectionEndpoint: collection?.endpoint,
        credentialPrefix,
        userPoolId: admins.pool.userPoolId,
        adminClientIds: [
          ...[admins.people, ...admins.machines].map((client) => client.userPoolClientId),
          ...(admins.console ? [admins.console.clientId] : []),
        ],
        console: admins.console,
        adminScope: admins.scope,
        signIn: admins.signIn,
      },
      { tables, signingKeys, credentialPrefix, snapshots, collection },
      [tables.registry, tables.activity, admins, ...signingKeys],
    );
    const { rest, accessLog } = new Api(this, 'Api', functions, settings);
    new Alarms(this, 'Alarms', { accessLog, tables, functions, namespace: stackName, settings });
    const dashboard = createDashboard(this, { rest, tables, functions, namespace: stackName });

    const signers = this.rows.endpoints.flatMap(({ name, needs }) =>
      needs.kms?.includes('sign') ? (functions.get(name)?.role ?? []) : [],
    );
    const url = settings.publicBaseUrl ?? rest.url.replace(/\/$/, '');
    this.addOutputs({
      ApiUrl: [url, 'Base URL of the API'],
      ConsoleUrl: [`${url}/console`, 'Catalogue of intents, and console for admins'],
      DocsUrl: [`${url}/docs`, 'Reference of the API, to read and to try'],
      JwksUrl: [`${url}/.well-known/jwks.json`, 'Public keys that verify PATs'],
      UserPoolId: [admins.pool.userPoolId, 'Where admins are managed'],
      AdminClientId: [admins.people.userPoolClientId, 'App client with which people get admin tokens'],
      RegistryTable: [tables.registry.tableName, 'The DynamoDB table of what is registered'],
      ActivityTable: [tables.activity.tableName, 'The DynamoDB table of agents, counters and idempotent calls'],
      DashboardUrl: [this.dashboardUrl(dashboard), 'What is going on'],
      ...(settings.adopt?.signingKeys && {
        SigningKeyPolicy: [this.toJsonString(signingPolicy(signers)), 'The policy that adopted signing keys are to be given'],
      }),
    });
  }

  /** The functions to deploy, with the needs that the search engine gives them. */
  private get rows(): { endpoints: readonly Endpoint[]; background: readonly BackgroundFunction[] } {
    const deployed = endpointsWith(this.settings);
    if (this.settings.search === 'sqlite') return { endpoints: deployed, background: backgroundFunctions };
    const withCollection = deployed.map((row) => ({ ...row, needs: row.needsWithCollection ?? row.needs }));
    return { endpoints: withCollection, background: backgroundWithCollection };
  }

  /** @param data - what a deployment that is refused must not have created by then */
  private createFunctions(parts: Parts, resources: Resources, data: readonly IConstruct[]): Map<string, EndpointFunction> {
    const { settings } = this;
    const codeOf = this.bundle();
    const functions = new Map<string, EndpointFunction>();
    const create = (row: Endpoint | BackgroundFunction, credential: Endpoint['credential']) => {
      const made = new EndpointFunction(this, row.name, {
        ...row,
        code: codeOf(row.name),
        environment: environmentOf(row.needs, credential, settings, { ...parts, functions }),
        settings,
        ...(row.needs.snapshots && indexSize(settings, row.memoryMb)),
        ...(isReserved(row.name) && { reservedConcurrency: settings.reservedConcurrency[row.name] }),
      });
      grantNeeds(made, row.needs, { ...resources, functions });
      if (row.needs.kms?.includes('sign')) allowSigning(resources.signingKeys, made.role);
      return made;
    };
    for (const row of this.rows.endpoints) functions.set(row.name, create(row, row.credential));
    for (const row of this.rows.background) {
      const made = create(row, 'none');
      functions.set(row.name, made);
      if (row.everyMinutes) this.run(made, 'Schedule', row.summary, { schedule: Schedule.rate(Duration.minutes(row.everyMinutes)) });
      if (row.afterDeployment) this.run(made, 'AfterDeployment', row.summary, { eventPattern: this.deployed });
    }
    for (const { name, guardsDeployment } of this.rows.background) {
      const guard = functions.get(name);
      if (!guardsDeployment || !guard) continue;
      const isAgreed = this.ask(guard);
      for (const one of [...functions.values(), ...data]) if (one !== guard) one.node.addDependency(isAgreed);
    }
    return functions;
  }

  /** Asks a function whether the deployment may go on, as soon as it has been deployed itself. */
  private ask(guard: EndpointFunction): CustomResource {
    const { signingKeys, voidPats, adopt } = this.settings;
    return new CustomResource(this, 'SigningKeyGuard', {
      resourceType: 'Custom::SigningKeyGuard',
      serviceToken: guard.lambda.functionArn,
      serviceTimeout: Duration.minutes(2),
      properties: { SigningKeys: signingKeys, VoidPats: String(voidPats), ...(adopt && { Adopt: adopt }) },
    });
  }

  /** CloudFormation's own event at the end of a deployment of this stack. */
  private get deployed(): EventPattern {
    return {
      source: ['aws.cloudformation'],
      detailType: ['CloudFormation Stack Status Change'],
      detail: { 'stack-id': [this.stackId], 'status-details': { status: ['CREATE_COMPLETE', 'UPDATE_COMPLETE'] } },
    };
  }

  private run(scheduled: EndpointFunction, id: string, summary: string, when: Pick<RuleProps, 'schedule' | 'eventPattern'>): void {
    const targets = [new LambdaTarget(scheduled.lambda, { retryAttempts: 2 })];
    const rule = new Rule(scheduled, id, { description: `Intent Gate: ${summary}`, ...when, targets });
    acknowledge(rule, {
      'Serverless-EventBusDLQ': 'The next run does all that a failed one left undone, and an alarm tells of failures.',
    });
  }

  /** Bundles the functions beside the template, unless this synthesis does without (context `aws:cdk:bundling-stacks`). */
  private bundle(): (name: string) => Code {
    const policy = readPolicy(this.settings);
    if (!this.bundlingRequired) return this.refuseDeployment();
    const folder = join(Stage.of(this)?.outdir ?? 'cdk.out', 'dist');
    const rows = [...this.rows.endpoints, ...this.rows.background];
    requireSources(rows);
    const filesOf = prepareFiles(policy, this.settings);
    bundleFunctions(
      rows.map(({ name, needs }) => ({ name, files: filesOf(needs) })),
      folder,
    );
    return (name) => Code.fromAsset(join(folder, name));
  }

  /** The output of `cdk ls` and `cdk bootstrap` contains no code. CloudFormation refuses to deploy it before it changes anything. */
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

  private dashboardUrl({ dashboardName }: Dashboard): string {
    return `https://${this.region}.console.aws.amazon.com/cloudwatch/home?region=${this.region}#dashboards/dashboard/${dashboardName}`;
  }

  private addOutputs(outputs: Record<string, [value: string, description: string]>): void {
    for (const [name, [value, description]] of Object.entries(outputs)) new CfnOutput(this, name, { value, description });
  }
}
