import { CfnOutput, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { Build } from './build.ts';
import { declarations } from './features.ts';
import { Gate } from './gate.ts';
import { readPolicy } from './policy.ts';
import { isProtected } from './retention.ts';
import { type Settings, stackNameOf } from './settings.ts';

/** The stack of a stage: a gate, and the outputs that the project's programs read. */
export class IntentGateStack extends Stack {
  /** @param build - used only if functions are bundled */
  constructor(scope: Construct, id: string, settings: Settings, build: Pick<Build, 'bundle' | 'buildPages'>) {
    const stackName = stackNameOf(settings.stage);
    super(scope, id, {
      stackName,
      description: `Intent Gate (${settings.stage})`,
      terminationProtection: isProtected(settings),
      tags: settings.tags,
      // an indented template with all settings would be near the limit of 1 MB
      suppressTemplateIndentation: true,
    });
    // The id Default is omitted from logical ids, so the gate's resources keep their ids as if created directly in the stack.
    const gate = new Gate(this, 'Default', {
      settings,
      policy: readPolicy(settings),
      build: { ...build, wordVectors: 'functions/core/search/word-vectors.bin' },
      names: { name: stackName, slug: settings.stage },
    });
    const { url, tables, userPool, adminClientId, dashboard, keyPolicies } = gate;
    const { adopt = {} } = settings;
    this.addOutputs({
      ApiUrl: [url, 'Base URL of the API'],
      JwksUrl: [`${url}/.well-known/jwks.json`, 'Public keys that verify PATs'],
      UserPoolId: [userPool.userPoolId, 'User pool of the admins'],
      AdminClientId: [adminClientId, 'App client with which people get admin tokens'],
      RegistryTable: [tables.registry.tableName, 'DynamoDB table of the registry'],
      ActivityTable: [tables.activity.tableName, 'DynamoDB table of agents, counters and idempotent calls'],
      DashboardUrl: [
        this.consoleUrl(`cloudwatch/home?region=${this.region}#dashboards/dashboard/${dashboard.dashboardName}`),
        'CloudWatch dashboard',
      ],
      ...(adopt.signingKeys && {
        SigningKeyPolicy: [this.toJsonString(keyPolicies.signingKeys), 'Key policy for adopted signing keys'],
      }),
      ...Object.fromEntries(
        declarations
          .flatMap(({ outputs = {} }) => Object.entries(outputs))
          .map(([name, [path, description]]) => [name, [url + path, description]]),
      ),
      ...Object.fromEntries(
        declarations
          .flatMap(({ adopted }) => adopted?.keys ?? [])
          .flatMap(({ setting, label, output }) => {
            const keyPolicy = Reflect.get(adopt, setting) && keyPolicies[setting];
            return keyPolicy ? [[output, [this.toJsonString(keyPolicy), `Key policy of ${label}, which is adopted`]]] : [];
          }),
      ),
    });
  }

  private consoleUrl(page: string): string {
    return `https://${this.region}.console.aws.amazon.com/${page}`;
  }

  private addOutputs(outputs: Record<string, [value: string, description: string]>): void {
    for (const [name, [value, description]] of Object.entries(outputs)) new CfnOutput(this, name, { value, description });
  }
}
