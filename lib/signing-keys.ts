import { Duration, type RemovalPolicy } from 'aws-cdk-lib';
import { AccountRootPrincipal, type IRole, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key, type KeyProps, KeySpec, KeyUsage } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import { removalPolicyOf } from './retention.ts';
import type { Settings } from './settings.ts';

/** Key actions that the account's IAM policies may allow: everything except signing. */
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
 * The keys that sign PATs, in the order of the setting: the first signs, all verify. KMS does not rotate asymmetric keys. To rotate, put a new name
 * first; to retire a key, remove its name once its last PAT has expired. A key left by a deleted stack is adopted.
 */
export const createSigningKeys = (scope: Construct, settings: Settings, gateName: string): IKey[] =>
  settings.signingKeys.map((name) => {
    const adoptedArn = settings.adopt?.signingKeys?.[name];
    if (adoptedArn) return Key.fromKeyArn(scope, `SigningKey-${name}`, adoptedArn);
    return createKey(scope, `SigningKey-${name}`, {
      description: `Intent Gate: signs Policy Adherence Tokens (${name})`,
      alias: `${gateName}/${name}`,
      keySpec: KeySpec.ECC_NIST_P256,
      // A key cannot be made multi-Region later. Administrators can replicate it, for example to move a stage to another region.
      multiRegion: true,
      removalPolicy: removalPolicyOf(settings),
    });
  });

/**
 * A key that nobody can sign with until its policy allows it. Its alias outlives the stack if the key does: KMS refuses to give the alias to a second
 * key, so a name that is put back never becomes a new key unnoticed, and the alias leads to the key to adopt.
 */
export function createKey(
  scope: Construct,
  id: string,
  { alias, ...props }: KeyProps & { alias: string; removalPolicy: RemovalPolicy },
): Key {
  const key = new Key(scope, id, {
    keyUsage: KeyUsage.SIGN_VERIFY,
    pendingWindow: Duration.days(7),
    policy: new PolicyDocument({ statements: [administrationOfAccount()] }),
    ...props,
  });
  key.addAlias(alias).applyRemovalPolicy(props.removalPolicy);
  return key;
}

/** Lets IAM policies of the account grant everything on the key except signing. */
const administrationOfAccount = () =>
  new PolicyStatement({ actions: administration, principals: [new AccountRootPrincipal()], resources: ['*'] });

const useBy = (role: IRole, action: string) => new PolicyStatement({ actions: [action], principals: [role], resources: ['*'] });

/** Lets a role use a key. No other role can, whatever the account's policies allow, because only the key's own policy grants it. */
export const allowUse = (key: IKey, role: IRole, action = 'kms:Sign'): void => {
  key.addToResourcePolicy(useBy(role, action));
};

/**
 * A key policy that lets only these roles sign. A stack cannot set it on an adopted key, whose policy still names the deleted stack's role; to KMS,
 * a new role of the same name is a different role.
 */
export const signingPolicy = (signers: readonly IRole[]) =>
  new PolicyDocument({ statements: [administrationOfAccount(), ...signers.map((role) => useBy(role, 'kms:Sign'))] });
