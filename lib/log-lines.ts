import { ArnFormat, Stack } from 'aws-cdk-lib';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { CfnPermission } from 'aws-cdk-lib/aws-lambda';
import { FilterPattern, SubscriptionFilter } from 'aws-cdk-lib/aws-logs';
import type { EndpointFunction } from './endpoint-function.ts';
import type { BackgroundFunction } from './endpoints.ts';

/** Subscribes a function to log lines of other functions. Only log groups of this stack may invoke it. */
export function passLogLines(
  target: EndpointFunction,
  { message, of }: NonNullable<BackgroundFunction['logLines']>,
  functions: ReadonlyMap<string, EndpointFunction>,
): void {
  const { account, stackName } = Stack.of(target);
  // One permission covers all log groups, whose names begin with the stack name.
  const permission = new CfnPermission(target, 'Lines', {
    action: 'lambda:InvokeFunction',
    functionName: target.lambda.functionArn,
    principal: new ServicePrincipal('logs.amazonaws.com').service,
    sourceAccount: account,
    sourceArn: Stack.of(target).formatArn({
      service: 'logs',
      resource: 'log-group',
      resourceName: `${stackName}-*`,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    }),
  });
  for (const name of of) {
    const source = functions.get(name);
    if (!source) throw new TypeError(`there is no function ${name} whose log could be read`);
    const filter = new SubscriptionFilter(target, name, {
      logGroup: source.logGroup,
      destination: { bind: () => ({ arn: target.lambda.functionArn }) },
      filterPattern: FilterPattern.stringValue('$.message', '=', message),
    });
    // CloudWatch Logs rejects a destination that it is not yet permitted to invoke.
    filter.node.addDependency(permission);
  }
}
