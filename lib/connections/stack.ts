import { RemovalPolicy } from 'aws-cdk-lib';
import { KeySpec, KeyUsage } from 'aws-cdk-lib/aws-kms';
import { connectionVariables } from '../../functions/connections/environment.ts';
import type { FeatureStack } from '../feature-resources.ts';
import { permit } from '../permission.ts';
import { createKey } from '../signing-keys.ts';

export const connectionsStack: FeatureStack = {
  permissions: ({ grantKey }) => (grantKey ? [permit('kms:GenerateMac', 'grant key', 'derives the key that seals tokens')] : []),
  /** Creates the key from which the key that seals tokens is derived. It is deleted with its stack: without it, people connect again. */
  create(scope, { gateName }) {
    const key = createKey(scope, 'GrantKey', {
      description: 'Intent Gate: derives the key that seals tokens of services',
      alias: `${gateName}/grants`,
      keySpec: KeySpec.HMAC_256,
      keyUsage: KeyUsage.GENERATE_VERIFY_MAC,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    return {
      arns: { 'grant key': [key.keyArn] },
      environment: ({ grantKey }) => ({ ...(grantKey && { [connectionVariables.grantKey]: key.keyArn }) }),
      keys: { grantKey: { key, isUser: ({ grantKey }) => grantKey === true, action: 'kms:GenerateMac' } },
      data: [key],
    };
  },
};
