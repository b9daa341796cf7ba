import { APIGatewayClient, GetAccountCommand } from '@aws-sdk/client-api-gateway';
import { GetAccountSettingsCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { awsClientSettings } from '../aws/aws-client.ts';
import { describeCause, log } from '../runtime/log.ts';

export interface AccountProblem {
  detail: string;
  remedy: string;
}

/** Lambda keeps this many concurrent executions unreserved, and refuses reservations that would leave fewer. */
const minUnreserved = 100;

/**
 * Checks a reservation against the account's quota.
 * @param reserved - concurrent executions that the deployment reserves
 * @param free - concurrent executions of the account that no function has reserved
 */
export function findConcurrencyProblem(reserved: number, free: number): AccountProblem | undefined {
  if (reserved === 0 || free - reserved >= minUnreserved) return undefined;
  return {
    detail: `reservedConcurrency reserves ${reserved} concurrent executions and Lambda requires ${minUnreserved} to stay unreserved, but the account has only ${free} unreserved`,
    remedy:
      'lower reservedConcurrency for this stage in cdk.json (0 reserves nothing), or request a higher quota from Service Quotas (Lambda, concurrent executions)',
  };
}

/** API Gateway needs a role to write logs, and rejects stages that log without one. */
export function findLogRoleProblem(managesRole: boolean, hasRole: boolean): AccountProblem | undefined {
  if (managesRole || hasRole) return undefined;
  return {
    detail: 'the account has no role with which API Gateway writes logs in this region',
    remedy: 'set "manageApiLogRole": true for this stage in cdk.json',
  };
}

export interface AccountNeeds {
  reservedConcurrency: number;
  managesApiLogRole: boolean;
}

/** Finds an account limit that would fail the deployment minutes later. If the account cannot be read, the deployment continues. */
export async function findAccountObjection({ reservedConcurrency, managesApiLogRole }: AccountNeeds): Promise<string | undefined> {
  try {
    const { unreserved, hasApiLogRole } = await readAccountLimits();
    const problems = [findConcurrencyProblem(reservedConcurrency, unreserved), findLogRoleProblem(managesApiLogRole, hasApiLogRole)];
    return problems.flatMap((problem) => (problem ? `${problem.detail}: ${problem.remedy}.` : [])).join(' ') || undefined;
  } catch (error) {
    log.warn('the limits of the account could not be read', { cause: describeCause(error) });
    return undefined;
  }
}

async function readAccountLimits(): Promise<{ unreserved: number; hasApiLogRole: boolean }> {
  const [lambda, gateway] = await Promise.all([
    new LambdaClient(awsClientSettings(2_000)).send(new GetAccountSettingsCommand({})),
    new APIGatewayClient(awsClientSettings(2_000)).send(new GetAccountCommand({})),
  ]);
  return { unreserved: lambda.AccountLimit?.UnreservedConcurrentExecutions ?? 0, hasApiLogRole: Boolean(gateway.cloudwatchRoleArn) };
}
