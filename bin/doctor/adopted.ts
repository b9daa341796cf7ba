import { CognitoIdentityProviderClient, DescribeUserPoolCommand, GetGroupCommand } from '@aws-sdk/client-cognito-identity-provider';
import {
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  type DynamoDBClientConfig,
} from '@aws-sdk/client-dynamodb';
import { DescribeKeyCommand, GetKeyPolicyCommand, type KeySpec, KMSClient } from '@aws-sdk/client-kms';
import { HeadBucketCommand, S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import type { AdoptedKey } from '../../lib/declaration.ts';
import { declarations } from '../../lib/features.ts';
import { type Settings, stackNameOf } from '../../lib/settings.ts';
import type { Outputs } from '../outputs.ts';
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
    if (['ResourceNotFoundException', 'NotFoundException', 'TableNotFoundException', 'NotFound'].includes((error as Error).name))
      return undefined;
    throw error;
  }
}

/**
 * Checks the resources that a stack adopts, which it neither creates nor configures.
 * @param outputs - of the deployment, with the policies that adopted keys need; undefined before the first one, when the signing roles are unknown
 */
export async function examineAdopted(adopt: Adopted, outputs: Outputs | undefined, options: ClientOptions): Promise<Problem[]> {
  const { registryTable, activityTable, userPoolId, signingKeys = {} } = adopt;
  const arnOf = (setting: string): string[] => [Reflect.get(adopt, setting) ?? []].flat();
  const parts = declarations.flatMap(({ adopted }) => adopted ?? []);
  const keys: KeyToExamine[] = [
    ...Object.entries(signingKeys).map(([name, arn]) => ({ ...patKey, setting: `signingKeys.${name}`, label: `the key "${name}"`, arn })),
    ...parts.flatMap((part) => part.keys).flatMap((key) => arnOf(key.setting).map((arn) => ({ ...edwards, ...key, arn }))),
  ];
  const found = await Promise.all([
    ...[registryTable, activityTable].flatMap((name) => (name ? [examineTable(new DynamoDBClient(options), name)] : [])),
    ...(userPoolId ? [examineUserPool(new CognitoIdentityProviderClient(options), userPoolId)] : []),
    ...keys.map((key) => examineKey(new KMSClient(options), key, outputs?.[key.output])),
    ...parts
      .flatMap(({ buckets }) => buckets)
      .flatMap((setting) => arnOf(setting).map((name) => examineBucket(new S3Client(options as S3ClientConfig), name, setting))),
  ]);
  return found.flat();
}

/** Finds keys that an earlier stack of the stage left under aliases that a new stack needs. */
export async function findLeftKeys(settings: Settings, options: ClientOptions): Promise<Problem[]> {
  const { stage, signingKeys, adopt = {} } = settings;
  const client = new KMSClient(options);
  const ofFeatures = declarations.flatMap(({ adopted }) => (adopted?.isUsed(settings) ? adopted.keys : []));
  const needed: [alias: string, setting: string][] = [
    ...signingKeys.flatMap((name): [string, string][] => (adopt.signingKeys?.[name] ? [] : [[name, `signingKeys.${name}`]])),
    ...ofFeatures.flatMap(({ alias, setting }): [string, string][] => (Reflect.get(adopt, setting) ? [] : [[alias, setting]])),
  ];
  const problems = needed.map(async ([name, setting]) => {
    const alias = `alias/${stackNameOf(stage)}/${name}`;
    const arn = (await find(client.send(new DescribeKeyCommand({ KeyId: alias }))))?.KeyMetadata?.Arn;
    if (!arn) return [];
    return problem(
      `an earlier stack left the key ${alias}, and a new key cannot have the same alias`,
      `to adopt the key, set adopt.${setting} in cdk.json to ${arn}; to have a new key: aws kms delete-alias --alias-name ${alias}`,
    );
  });
  return (await Promise.all(problems)).flat();
}

interface KeyToExamine extends Omit<AdoptedKey, 'alias'> {
  arn: string;
  spec: KeySpec;
  kind: string;
}

const patKey = { spec: 'ECC_NIST_P256', kind: 'a P-256 signing key', output: 'SigningKeyPolicy', loss: 'it cannot issue PATs' } as const;

const edwards = { spec: 'ECC_NIST_EDWARDS25519', kind: 'an Ed25519 signing key' } as const;

async function examineBucket(client: S3Client, Bucket: string, setting: string): Promise<Problem[]> {
  if (await find(client.send(new HeadBucketCommand({ Bucket })))) return [];
  return problem(`bucket not found: ${Bucket}`, `correct adopt.${setting} in cdk.json: aws s3api list-buckets`);
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

async function examineKey(
  client: KMSClient,
  { setting, label, arn: KeyId, spec, kind, loss }: KeyToExamine,
  wantedPolicy: string | undefined,
): Promise<Problem[]> {
  const correct = `correct adopt.${setting} in cdk.json: aws kms list-keys`;
  const enable = `aws kms enable-key --key-id ${KeyId}`;
  const key = (await find(client.send(new DescribeKeyCommand({ KeyId }))))?.KeyMetadata;
  if (!key) return problem(`key not found: ${KeyId}`, correct);
  if (key.KeySpec !== spec || key.KeyUsage !== 'SIGN_VERIFY') return problem(`${label} is not ${kind}`, correct);
  if (key.KeyState === 'PendingDeletion')
    return problem(`${label} is scheduled for deletion`, `aws kms cancel-key-deletion --key-id ${KeyId} && ${enable}`);
  if (key.KeyState !== 'Enabled') return problem(`${label} is ${key.KeyState}`, enable);
  if (wantedPolicy === undefined) return [];
  const { Policy = '{}' } = await client.send(new GetKeyPolicyCommand({ KeyId, PolicyName: 'default' }));
  if (signersOf(Policy) === signersOf(wantedPolicy)) return [];
  return advice(
    `${label} does not allow this stack to sign, so ${loss}`,
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
