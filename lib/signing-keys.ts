import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { AnyPrincipal, Effect, type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Key, KeySpec, KeyUsage } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import type { Settings } from './settings.ts';

/**
 * The keys that sign PATs, in the order of the setting: the first signs, all verify. KMS does not rotate asymmetric keys:
 * a new name in front rotates, taking the old name out (once its last PAT has expired) retires.
 */
export function createSigningKeys(scope: Construct, { signingKeys, retainData }: Settings): [Key, ...Key[]] {
  const [newest = '', ...older] = signingKeys;
  const create = (name: string) =>
    new Key(scope, `SigningKey-${name}`, {
      description: `Intent Gate: signs Policy Adherence Tokens (${name})`,
      alias: `${Stack.of(scope).stackName}/${name}`,
      keySpec: KeySpec.ECC_NIST_P256,
      keyUsage: KeyUsage.SIGN_VERIFY,
      pendingWindow: Duration.days(7),
      removalPolicy: retainData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    });
  return [create(newest), ...older.map(create)];
}

/** Lets nobody but one role sign, whatever other policies of the account allow. */
export function reserveSigning(keys: readonly Key[], signer: IRole): void {
  for (const key of keys) {
    key.addToResourcePolicy(
      new PolicyStatement({
        sid: 'OnlyIssuePatSigns',
        effect: Effect.DENY,
        principals: [new AnyPrincipal()],
        actions: ['kms:Sign'],
        resources: ['*'],
        conditions: { ArnNotEquals: { 'aws:PrincipalArn': signer.roleArn } },
      }),
    );
  }
}
