import { CustomResource, Duration, Stack } from 'aws-cdk-lib';
import { Rule, type RuleProps, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as LambdaTarget } from 'aws-cdk-lib/aws-events-targets';
import type { Code } from 'aws-cdk-lib/aws-lambda';
import { FilterPattern, SubscriptionFilter } from 'aws-cdk-lib/aws-logs';
import { LambdaDestination } from 'aws-cdk-lib/aws-logs-destinations';
import type { Construct, IConstruct } from 'constructs';
import { variables } from '../functions/core/runtime/environment.ts';
import { acknowledge } from './acknowledge.ts';
import { EndpointFunction } from './endpoint-function.ts';
import type { BackgroundFunction } from './endpoints/endpoint.ts';
import { type Endpoint, executing } from './endpoints.ts';
import { environmentOf } from './environment.ts';
import { gradualFunctions } from './gradual-deployment.ts';
import type { Network } from './network.ts';
import { grantNeeds, type Resources } from './permissions.ts';
import type { Settings } from './settings.ts';
import { indexSize } from './snapshots.ts';

/** The rows of a deployment that have functions. */
export interface FunctionRows {
  endpoints: readonly Endpoint[];
  background: readonly BackgroundFunction[];
}

export interface FunctionsProps {
  settings: Settings;
  rows: FunctionRows;
  resources: Resources;
  /** created only once the deployment has been approved */
  data: readonly IConstruct[];
  /** of functions that call intents */
  network: Network | undefined;
  codeOf: (name: string) => Code;
  /** of aliases, with gradual deployments */
  aliasName: string;
}

/** Creates the function of each row, by name, and the rules that run those of the background. */
export function createFunctions(scope: Construct, { settings, rows, resources, data, network, codeOf, aliasName }: FunctionsProps) {
  const functions = new Map<string, EndpointFunction>();
  const rules: Rule[] = [];
  const run = (made: EndpointFunction, summary: string, id: string, trigger: Pick<RuleProps, 'schedule' | 'eventPattern'>) => {
    const targets = [new LambdaTarget(made.lambda, { retryAttempts: 2 })];
    const rule = new Rule(made, id, { description: `Intent Gate: ${summary}`, ...trigger, targets });
    acknowledge(rule, { 'Serverless-EventBusDLQ': 'The next run makes up for a failed one, and an alarm reports failures.' });
    rules.push(rule);
  };

  function create(row: Endpoint | BackgroundFunction): EndpointFunction {
    const reserved = (row.executionAlarms && settings.reservedConcurrency[row.name]) || 0;
    const memoryMb = row.executionAlarms ? settings.executionMemoryMb : row.memoryMb;
    const available = { ...resources, functions };
    const made = new EndpointFunction(scope, row.name, {
      ...row,
      code: codeOf(row.name),
      environment: {
        ...environmentOf(row.needs, 'credential' in row ? row.credential : 'none', settings, available),
        ...(reserved > 0 && { [variables.reservedConcurrency]: String(reserved) }),
      },
      settings,
      memoryMb,
      ...(row.needs.snapshots && indexSize(settings, memoryMb)),
      reservedConcurrency: reserved,
      network: row.needs.egress === 'intents' ? network : undefined,
    });
    grantNeeds(made, row.needs, available);
    if (settings.gradualDeployment && gradualFunctions[row.name]) made.publish(aliasName);
    functions.set(row.name, made);
    return made;
  }

  // Endpoints need the ARNs of the functions that they start, so these come first.
  for (const row of rows.background.filter(({ isStarted }) => isStarted)) {
    const { lambda } = create(row);
    if (row.isStarted !== 'once') continue;
    // Lambda must not retry, because the first run may have sent the call. A call that was not begun is started again when its agent asks for its state.
    lambda.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(15) });
    acknowledge(lambda, {
      'Serverless-LambdaAsyncFailureDestination':
        'A call that was not started is started when the agent asks for its state; an interrupted call must not be repeated.',
    });
  }
  for (const row of rows.endpoints) create(row);
  for (const row of rows.background) {
    const made = functions.get(row.name) ?? create(row);
    if (row.everyMinutes) run(made, row.summary, 'Schedule', { schedule: Schedule.rate(Duration.minutes(row.everyMinutes)) });
    if (row.logLines) passLogLines(made, row.logLines, functions);
    if (row.afterDeployment) run(made, row.summary, 'AfterDeployment', { eventPattern: deploymentOf(Stack.of(scope)) });
  }
  const guard = functions.get('guard-signing-keys');
  const approval = guard && requestApproval(scope, guard, settings);
  for (const one of [...functions.values(), ...data]) if (approval && one !== guard) one.node.addDependency(approval);
  return { functions, rules };
}

/** Subscribes a function to log lines of those that execute intents. Only their log groups may invoke it. */
function passLogLines(target: EndpointFunction, message: string, functions: ReadonlyMap<string, EndpointFunction>): void {
  for (const name of executing) {
    const source = functions.get(name);
    if (!source) throw new TypeError(`there is no function ${name} whose log could be read`);
    new SubscriptionFilter(target, name, {
      logGroup: source.logGroup,
      destination: new LambdaDestination(target.lambda),
      filterPattern: FilterPattern.stringValue('$.message', '=', message),
    });
  }
}

/** A resource that succeeds if the guard function approves the deployment. */
function requestApproval(scope: Construct, guard: EndpointFunction, settings: Settings): CustomResource {
  const { signingKeys, voidPats, adopt, manageApiLogRole } = settings;
  return new CustomResource(scope, 'SigningKeyGuard', {
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

/** CloudFormation's event for a completed deployment of a stack. */
const deploymentOf = ({ stackId }: Stack) => ({
  source: ['aws.cloudformation'],
  detailType: ['CloudFormation Stack Status Change'],
  detail: { 'stack-id': [stackId], 'status-details': { status: ['CREATE_COMPLETE', 'UPDATE_COMPLETE'] } },
});
