import { createHash } from 'node:crypto';
import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import { LambdaApplication, LambdaDeploymentConfig, LambdaDeploymentGroup } from 'aws-cdk-lib/aws-codedeploy';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { acknowledge, logicalIdOf } from './acknowledge.ts';
import type { EndpointFunction } from './endpoint-function.ts';
import type { Settings } from './settings.ts';

/** Functions whose new versions get few requests at first, with the alarm that watches each new version. */
export const gradualFunctions: Readonly<Record<string, string>> = { 'execute-intent': 'ExecuteRollout', 'issue-pat': 'IssueRollout' };

/**
 * The ARNs under which a function may be invoked. CloudFormation updates the roles of callers before the callers, so when an alias comes, goes or changes
 * its name, they may invoke it under its old name and its new one.
 */
export const invocableArns = (name: string, { lambda }: Pick<EndpointFunction, 'lambda'>): string[] => [
  lambda.functionArn,
  ...(name in gradualFunctions ? [`${lambda.functionArn}:*`] : []),
];

/** The reasons for the wildcards of these ARNs. */
export const aliasReasons = (functions: ReadonlyMap<string, Pick<EndpointFunction, 'lambda'>>): Record<string, string> =>
  Object.fromEntries(
    [...functions].flatMap(([name, { lambda }]) =>
      name in gradualFunctions
        ? [
            [
              `AwsSolutions-IAM5[Resource::<${logicalIdOf(lambda)}.Arn>:*]`,
              'The aliases of one function, whose names change with the policy.',
            ],
          ]
        : [],
    ),
  );

/** Alarms for failures of the whole gate; they also trigger a rollback. */
const commonAlarms = ['ApiErrors', 'Unavailable', 'GatewayErrors', 'IssueFailures'];

/**
 * Name of the alias that serves requests. It changes whenever existing PATs become invalid: a new alias gets all requests when the API is deployed,
 * so versions that accept different PATs never serve requests side by side.
 */
export function aliasNameOf(policy: string, { signingKeys, protocol, publicBaseUrl, billing }: Settings): string {
  const digest = createHash('sha256').update(JSON.stringify([policy, signingKeys, protocol, publicBaseUrl, billing]));
  return `live-${digest.digest('hex').slice(0, 12)}`;
}

/** Lets CodeDeploy shift requests to new versions, and roll back if an alarm fires. */
export class GradualDeployment extends Construct {
  constructor(
    scope: Construct,
    id: string,
    functions: ReadonlyMap<string, EndpointFunction>,
    alarmsOf: (names: readonly string[]) => Alarm[],
  ) {
    super(scope, id);
    const application = new LambdaApplication(this, 'Application');
    const role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('codedeploy.amazonaws.com') });
    acknowledge(role, {
      'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSCodeDeployRoleForLambdaLimited]':
        'AWS defines this policy for CodeDeploy with Lambda; it may change aliases and read alarms.',
    });
    for (const [name, ownAlarm] of Object.entries(gradualFunctions)) {
      const alias = functions.get(name)?.alias;
      if (!alias) continue;
      // The alarm must exist before the new version gets its first request.
      alias.node.addDependency(...alarmsOf([ownAlarm]));
      new LambdaDeploymentGroup(this, name, {
        application,
        role,
        alias,
        deploymentConfig: LambdaDeploymentConfig.CANARY_10PERCENT_15MINUTES,
        alarms: alarmsOf([ownAlarm, ...commonAlarms]),
        autoRollback: { deploymentInAlarm: true, failedDeployment: true, stoppedDeployment: true },
      });
    }
  }
}
