import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { AccountRootPrincipal, type IRole, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Key, KeySpec, KeyUsage } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import type { Settings } from './settings.ts';

/** Everything that an account may let its people and roles do with a key, except signing. */
const administration = [
  'CancelKeyDeletion',
  'CreateAlias',
  'DeleteAlias',
  'DescribeKey',
  'DisableKey',
  'EnableKey',
  'GetKeyPolicy',
  'GetKeyRotationStatus',
  'GetPublicKey',
  'ListGrants',
  'ListKeyPolicies',
  'ListResourceTags',
  'PutKeyPolicy',
  'ScheduleKeyDeletion',
  'TagResource',
  'UntagResource',
  'UpdateAlias',
  'UpdateKeyDescription',
].map((action) => `kms:${action}`);

/**
 * The keys that sign PATs, in the order of the setting: the first signs, all verify. KMS does not rotate asymmetric keys:
 * a new name in front rotates, removing the old name (once its last PAT has expired) retires.
 */
export const createSigningKeys = (scope: Construct, { signingKeys, retainData }: Settings): Key[] =>
  signingKeys.map(
    (name) =>
      new Key(scope, `SigningKey-${name}`, {
        description: `Intent Gate: signs Policy Adherence Tokens (${name})`,
        alias: `${Stack.of(scope).stackName}/${name}`,
        keySpec: KeySpec.ECC_NIST_P256,
        keyUsage: KeyUsage.SIGN_VERIFY,
        // A key cannot be made multi-Region later; a second region can then sign and verify the same PATs.
        multiRegion: true,
        pendingWindow: Duration.days(7),
        removalPolicy: retainData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
        policy: new PolicyDocument({
          statements: [new PolicyStatement({ actions: administration, principals: [new AccountRootPrincipal()], resources: ['*'] })],
        }),
      }),
  );

/** Lets a role sign. No other role can, whatever the account's policies allow, because the keys leave signing to their own policy alone. */
export function allowSigning(keys: readonly Key[], signer: IRole): void {
  for (const key of keys) {
    key.addToResourcePolicy(new PolicyStatement({ actions: ['kms:Sign'], principals: [signer], resources: ['*'] }));
  }
}
