import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { AccountRootPrincipal, type IRole, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key, type KeyProps, KeySpec, KeyUsage } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import { removalPolicyOf } from './retention.ts';
import type { Settings } from './settings.ts';

/** Everything that an account may allow on a key, except signing. */
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
  'ReplicateKey',
  'ScheduleKeyDeletion',
  'TagResource',
  'UntagResource',
  'UpdateAlias',
  'UpdateKeyDescription',
  'UpdatePrimaryRegion',
].map((action) => `kms:${action}`);

/**
 * The keys that sign PATs, in the order of the setting: the first signs, all verify. KMS does not rotate asymmetric keys:
 * a new name in front rotates, removing the old name (once its last PAT has expired) retires. A key that a deleted stack left is taken over.
 */
export const createSigningKeys = (scope: Construct, settings: Settings, gateName: string): IKey[] =>
  settings.signingKeys.map((name) => {
    const adoptedArn = settings.adopt?.signingKeys?.[name];
    if (adoptedArn) return Key.fromKeyArn(scope, `SigningKey-${name}`, adoptedArn);
    return createKey(scope, `SigningKey-${name}`, {
      description: `Intent Gate: signs Policy Adherence Tokens (${name})`,
      alias: `${gateName}/${name}`,
      keySpec: KeySpec.ECC_NIST_P256,
      // A key cannot be made multi-Region later. Administrators may replicate it, as when a stage moves to another region.
      multiRegion: true,
      removalPolicy: removalPolicyOf(settings),
    });
  });

/**
 * The key from which the keys follow that sign calls, which rotate by themselves. Another name of it replaces them all at once. Nothing depends on it for
 * longer than a minute, so it goes with its stack.
 */
export const createCallKey = (scope: Construct, { callKey }: Settings, gateName: string): IKey =>
  createKey(scope, `CallKey-${callKey}`, {
    description: `Intent Gate: from it follow the keys that sign calls (${callKey})`,
    alias: `${gateName}/calls/${callKey}`,
    keySpec: KeySpec.HMAC_256,
    keyUsage: KeyUsage.GENERATE_VERIFY_MAC,
    removalPolicy: RemovalPolicy.DESTROY,
  });

/** A key that nothing signs with until its policy allows it. */
export const createKey = (scope: Construct, id: string, props: KeyProps): Key =>
  new Key(scope, id, {
    keyUsage: KeyUsage.SIGN_VERIFY,
    pendingWindow: Duration.days(7),
    policy: new PolicyDocument({ statements: [administrationOfAccount()] }),
    ...props,
  });

/** Its people and roles may do with a key what they are allowed, except signing. */
const administrationOfAccount = () =>
  new PolicyStatement({ actions: administration, principals: [new AccountRootPrincipal()], resources: ['*'] });

const signingOf = (signer: IRole) => new PolicyStatement({ actions: ['kms:Sign'], principals: [signer], resources: ['*'] });

/** Lets a role have the keys that sign calls; no other role can, as with {@link allowSigning}. */
export function allowCallKey(key: IKey, role: IRole): void {
  key.addToResourcePolicy(new PolicyStatement({ actions: ['kms:GenerateMac'], principals: [role], resources: ['*'] }));
}

/** Lets a role sign. No other role can, whatever the account's policies allow, because only the key's own policy grants it. */
export function allowSigning(keys: readonly IKey[], signer: IRole): void {
  for (const key of keys) key.addToResourcePolicy(signingOf(signer));
}

/**
 * The policy of a key that lets these roles sign. A stack cannot set it on a key that it has taken over, which still lets the role of the
 * deleted stack sign, and nobody else: a role of the same name is another role to KMS.
 */
export const signingPolicy = (signers: readonly IRole[]) =>
  new PolicyDocument({ statements: [administrationOfAccount(), ...signers.map(signingOf)] });
