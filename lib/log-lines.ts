import { FilterPattern, SubscriptionFilter } from 'aws-cdk-lib/aws-logs';
import { LambdaDestination } from 'aws-cdk-lib/aws-logs-destinations';
import type { EndpointFunction } from './endpoint-function.ts';
import type { BackgroundFunction } from './endpoints/endpoint.ts';

/** Subscribes a function to log lines of other functions. Only their log groups may invoke it. */
export function passLogLines(
  target: EndpointFunction,
  { message, of }: NonNullable<BackgroundFunction['logLines']>,
  functions: ReadonlyMap<string, EndpointFunction>,
): void {
  for (const name of of) {
    const source = functions.get(name);
    if (!source) throw new TypeError(`there is no function ${name} whose log could be read`);
    new SubscriptionFilter(target, name, {
      logGroup: source.logGroup,
      destination: new LambdaDestination(target.lambda),
      filterPattern: FilterPattern.stringValue('$.message', '=', message),
    });
  }
}
