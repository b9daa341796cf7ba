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

/** What is there, or undefined if there is nothing of this name. */
async function find<T>(question: Promise<T>): Promise<T | undefined> {
  try {
    return await question;
  } catch (error) {
    if (['ResourceNotFoundException', 'NotFoundException', 'TableNotFoundException'].includes((error as Error).name)) return undefined;
    throw error;
  }
}

/**
 * Looks at what a stack takes over and does not make, hence does not configure either.
 * @param wantedPolicy - output SigningKeyPolicy of the deployment; undefined before it, when nobody can say who is to sign
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
  if (!table)
    return [{ detail: `there is no table ${name}`, remedy: 'correct adopt in cdk.json, or choose the region: aws dynamodb list-tables' }];
  if (table.TableStatus !== 'ACTIVE') {
    return [{ detail: `the table ${name} is ${table.TableStatus}`, remedy: `aws dynamodb wait table-exists --table-name ${name}` }];
  }
  const keys = table.KeySchema?.map(({ AttributeName }) => AttributeName).join();
  if (keys !== 'pk,sk') return [{ detail: `the table ${name} is none of Intent Gate`, remedy: 'correct adopt in cdk.json' }];
  const isExpiring = life?.TimeToLiveDescription?.AttributeName === 'expires_at';
  const recovery = backups?.ContinuousBackupsDescription?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus;
  return [
    ...(isExpiring
      ? []
      : [
          {
            detail: `nothing expires in the table ${name}`,
            remedy: `aws dynamodb update-time-to-live --table-name ${name} --time-to-live-specification Enabled=true,AttributeName=expires_at`,
          },
        ]),
    ...(recovery === 'ENABLED'
      ? []
      : [
          {
            detail: `the table ${name} cannot be restored`,
            remedy: `aws dynamodb update-continuous-backups --table-name ${name} --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true`,
          },
        ]),
    ...(table.DeletionProtectionEnabled
      ? []
      : [
          {
            detail: `the table ${name} is not protected against deletion`,
            remedy: `aws dynamodb update-table --table-name ${name} --deletion-protection-enabled`,
          },
        ]),
  ];
}

async function examineUserPool(client: CognitoIdentityProviderClient, UserPoolId: string): Promise<Problem[]> {
  if (!(await find(client.send(new DescribeUserPoolCommand({ UserPoolId }))))) {
    return [
      {
        detail: `there is no user pool ${UserPoolId}`,
        remedy: 'correct adopt in cdk.json: aws cognito-idp list-user-pools --max-results 60',
      },
    ];
  }
  if (await find(client.send(new GetGroupCommand({ UserPoolId, GroupName: 'admins' })))) return [];
  return [
    {
      detail: `the user pool ${UserPoolId} has no group admins`,
      remedy: `aws cognito-idp create-group --user-pool-id ${UserPoolId} --group-name admins`,
    },
  ];
}

async function examineKey(client: KMSClient, name: string, KeyId: string, wantedPolicy: string | undefined): Promise<Problem[]> {
  const key = (await find(client.send(new DescribeKeyCommand({ KeyId }))))?.KeyMetadata;
  if (!key) return [{ detail: `there is no key ${KeyId}`, remedy: `correct adopt.signingKeys.${name} in cdk.json: aws kms list-keys` }];
  if (key.KeySpec !== 'ECC_NIST_P256' || key.KeyUsage !== 'SIGN_VERIFY') {
    return [
      { detail: `the key "${name}" does not sign on P-256`, remedy: `correct adopt.signingKeys.${name} in cdk.json: aws kms list-keys` },
    ];
  }
  if (key.KeyState === 'PendingDeletion') {
    return [
      {
        detail: `the key "${name}" is to be deleted`,
        remedy: `aws kms cancel-key-deletion --key-id ${KeyId} && aws kms enable-key --key-id ${KeyId}`,
      },
    ];
  }
  if (key.KeyState !== 'Enabled')
    return [{ detail: `the key "${name}" is ${key.KeyState}`, remedy: `aws kms enable-key --key-id ${KeyId}` }];
  if (wantedPolicy === undefined) return [];
  const { Policy = '{}' } = await client.send(new GetKeyPolicyCommand({ KeyId, PolicyName: 'default' }));
  if (signersOf(Policy) === signersOf(wantedPolicy)) return [];
  return [
    {
      detail: `the key "${name}" does not let this stack sign: PATs cannot be issued`,
      remedy: `aws kms put-key-policy --key-id ${KeyId} --policy '${wantedPolicy}'`,
    },
  ];
}

interface Statement {
  Effect: string;
  Action: string | string[];
  Principal: { AWS?: string | string[] };
}

/** Who may sign by a key policy, in a fixed order. KMS answers a role that has been deleted with its id, which no role has again. */
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
