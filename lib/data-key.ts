import { Stack } from 'aws-cdk-lib';
import { AccountRootPrincipal, AnyPrincipal, PolicyDocument, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import { CfnLogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { removalPolicyOf } from './retention.ts';
import type { Settings } from './settings.ts';

const uses = ['kms:Encrypt', 'kms:Decrypt', 'kms:ReEncrypt*', 'kms:GenerateDataKey*', 'kms:DescribeKey', 'kms:CreateGrant'];

/** Lets AWS services use the key for the gate. As with the keys of these services, access to a table or bucket includes use of its key. */
function usesOf(scope: Construct): PolicyStatement[] {
  const { account, region, partition } = Stack.of(scope);
  const through = ['dynamodb', 's3'].map((service) => `${service}.${region}.amazonaws.com`);
  const logs = new ServicePrincipal(`logs.${region}.amazonaws.com`);
  const logGroups = `arn:${partition}:logs:${region}:${account}:log-group:*`;
  return [
    new PolicyStatement({
      actions: uses,
      principals: [new AnyPrincipal()],
      resources: ['*'],
      conditions: { StringEquals: { 'kms:CallerAccount': account, 'kms:ViaService': through } },
    }),
    new PolicyStatement({
      actions: uses,
      principals: [logs],
      resources: ['*'],
      conditions: { ArnLike: { 'kms:EncryptionContext:aws:logs:arn': logGroups } },
    }),
  ];
}

/**
 * The key that encrypts tables, snapshots and logs, given or created with the setting `customerManagedKey`. Without it,
 * tables and logs use AWS-owned keys and buckets keys of S3, none of which cost anything or need permissions.
 * @param given - its policy gets the necessary statements; the policy of an imported key must have them already
 */
export function useDataKey(scope: Construct, settings: Settings, given?: IKey): IKey | undefined {
  if (given) for (const statement of usesOf(scope)) given.addToResourcePolicy(statement);
  if (given || !settings.customerManagedKey) return given;
  const administration = new PolicyStatement({ actions: ['kms:*'], principals: [new AccountRootPrincipal()], resources: ['*'] });
  return new Key(scope, 'DataKey', {
    description: 'Intent Gate: encrypts tables, snapshots and logs',
    enableKeyRotation: true,
    removalPolicy: removalPolicyOf(settings),
    policy: new PolicyDocument({ statements: [administration, ...usesOf(scope)] }),
  });
}

export function encryptLogs(gate: Construct, { keyArn }: IKey): void {
  for (const child of gate.node.findAll()) if (child instanceof CfnLogGroup) child.kmsKeyId = keyArn;
}
