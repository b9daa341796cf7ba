import { CognitoIdentityProviderClient, DescribeUserPoolCommand, GetGroupCommand } from '@aws-sdk/client-cognito-identity-provider';
import {
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  type DynamoDBClientConfig,
} from '@aws-sdk/client-dynamodb';
import { DescribeKeyCommand, GetKeyPolicyCommand, KMSClient } from '@aws-sdk/client-kms';
import type { Settings } from '../../lib/settings.ts';
import type { Problem } from './examine.ts';

type Adopted = NonNullable<Settings['adopt']>;

type ClientOptions = Pick<DynamoDBClientConfig, 'maxAttempts' | 'requestHandler' | 'endpoint' | 'region' | 'credentials'>;

const problem = (detail: string, remedy: string): Problem[] => [{ detail, remedy }];

const advice = (detail: string, remedy: string): Problem[] => [{ detail, remedy, canWait: true }];

/** The response, or undefined if the resource does not exist. */
async function find<T>(question: Promise<T>): Promise<T | undefined> {
  try {
    return await question;
  } catch (error) {
    if (['ResourceNotFoundException', 'NotFoundException', 'TableNotFoundException'].includes((error as Error).name)) return undefined;
    throw error;
  }
}

/**
 * Checks the resources that a stack adopts, which it neither creates nor configures.
 * @param wantedPolicy - output SigningKeyPolicy of the deployment; undefined before the first deployment, when the signing roles are unknown
 */
export async function examineAdopted(
  { registryTable, activityTable, userPoolId, signingKeys = {} }: Adopted,
  wantedPolicy: string | undefined,
  options: ClientOptions,
): Promise<Problem[]> {
  const found = await Promise.all([
    ...[registryTable, activityTable].flatMap((name) => (name ? [examineTable(new DynamoDBClient(options), name)] : [])),
    ...(userPoolId ? [examineUserPool(new CognitoIdentityProviderClient(options), userPoolId)] : []),
    ...Object.entries(signingKeys).map(([name, arn]) => examineKey(new KMSClient(options), name, arn, wantedPolicy)),
  ]);
  return found.flat();
}

async function examineTable(client: DynamoDBClient, name: string): Promise<Problem[]> {
  const TableName = name;
  const [described, life, backups] = await Promise.all([
    find(client.send(new DescribeTableCommand({ TableName }))),
    find(client.send(new DescribeTimeToLiveCommand({ TableName }))),
    find(client.send(new DescribeContinuousBackupsCommand({ TableName }))),
  ]);
  const table = described?.Table;
  if (!table) return problem(`table not found: ${name}`, 'correct adopt in cdk.json, or choose the region: aws dynamodb list-tables');
  if (table.TableStatus !== 'ACTIVE')
    return problem(`the table ${name} is ${table.TableStatus}`, `aws dynamodb wait table-exists --table-name ${name}`);
  const keys = table.KeySchema?.map(({ AttributeName }) => AttributeName).join();
  if (keys !== 'pk,sk') return problem(`the table ${name} is not an Intent Gate table`, 'correct adopt in cdk.json');
  const isExpiring = life?.TimeToLiveDescription?.AttributeName === 'expires_at';
  const recovery = backups?.ContinuousBackupsDescription?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus;
  const aws = (command: string, options: string) => `aws dynamodb ${command} --table-name ${name} ${options}`;
  const missing: [isMissing: boolean, detail: string, remedy: string][] = [
    [
      !isExpiring,
      `the table ${name} has no time to live`,
      aws('update-time-to-live', '--time-to-live-specification Enabled=true,AttributeName=expires_at'),
    ],
    [
      recovery !== 'ENABLED',
      `the table ${name} has no point-in-time recovery`,
      aws('update-continuous-backups', '--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true'),
    ],
    [
      !table.DeletionProtectionEnabled,
      `the table ${name} is not protected against deletion`,
      aws('update-table', '--deletion-protection-enabled'),
    ],
  ];
  return missing.flatMap(([isMissing, detail, remedy]) => (isMissing ? advice(detail, remedy) : []));
}

async function examineUserPool(client: CognitoIdentityProviderClient, UserPoolId: string): Promise<Problem[]> {
  if (!(await find(client.send(new DescribeUserPoolCommand({ UserPoolId })))))
    return problem(`user pool not found: ${UserPoolId}`, 'correct adopt in cdk.json: aws cognito-idp list-user-pools --max-results 60');
  if (await find(client.send(new GetGroupCommand({ UserPoolId, GroupName: 'admins' })))) return [];
  return advice(
    `the user pool ${UserPoolId} has no group named admins`,
    `aws cognito-idp create-group --user-pool-id ${UserPoolId} --group-name admins`,
  );
}

async function examineKey(client: KMSClient, name: string, KeyId: string, wantedPolicy: string | undefined): Promise<Problem[]> {
  const correct = `correct adopt.signingKeys.${name} in cdk.json: aws kms list-keys`;
  const enable = `aws kms enable-key --key-id ${KeyId}`;
  const key = (await find(client.send(new DescribeKeyCommand({ KeyId }))))?.KeyMetadata;
  if (!key) return problem(`key not found: ${KeyId}`, correct);
  if (key.KeySpec !== 'ECC_NIST_P256' || key.KeyUsage !== 'SIGN_VERIFY')
    return problem(`the key "${name}" is not a P-256 signing key`, correct);
  if (key.KeyState === 'PendingDeletion')
    return problem(`the key "${name}" is scheduled for deletion`, `aws kms cancel-key-deletion --key-id ${KeyId} && ${enable}`);
  if (key.KeyState !== 'Enabled') return problem(`the key "${name}" is ${key.KeyState}`, enable);
  if (wantedPolicy === undefined) return [];
  const { Policy = '{}' } = await client.send(new GetKeyPolicyCommand({ KeyId, PolicyName: 'default' }));
  if (signersOf(Policy) === signersOf(wantedPolicy)) return [];
  return advice(
    `the key "${name}" does not allow this stack to sign, so it cannot issue PATs`,
    `aws kms put-key-policy --key-id ${KeyId} --policy '${wantedPolicy}'`,
  );
}

interface Statement {
  Effect: string;
  Action: string | string[];
  Principal: { AWS?: string | string[] };
}

/** The principals that a key policy allows to sign, sorted. KMS replaces deleted roles with their unique ids. */
export function signersOf(policy: string): string {
  const { Statement: statements = [] } = JSON.parse(policy) as { Statement?: Statement[] };
  const signing = statements.filter(
    ({ Effect, Action }) => Effect === 'Allow' && [Action].flat().some((action) => ['kms:Sign', 'kms:*'].includes(action)),
  );
  return signing
    .flatMap(({ Principal }) => Principal.AWS ?? [])
    .sort()
    .join();
}
