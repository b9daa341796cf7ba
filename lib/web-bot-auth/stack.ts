import { RemovalPolicy } from 'aws-cdk-lib';
import { KeySpec, KeyUsage } from 'aws-cdk-lib/aws-kms';
import { signatureVariables } from '../../functions/web-bot-auth/environment.ts';
import type { FeatureStack } from '../feature-resources.ts';
import { permit } from '../permission.ts';
import { createKey } from '../signing-keys.ts';

export const webBotAuthStack: FeatureStack = {
  permissions: ({ callKey }) => (callKey ? [permit('kms:GenerateMac', 'call key', 'derives the keys that sign calls')] : []),
  /**
   * Creates the key from which the keys that sign calls are derived; those rotate automatically. Renaming it replaces them all. Nothing depends on it for
   * longer than a minute, so it is deleted with its stack.
   */
  create(scope, { settings, gateName }) {
    const name = settings.callKey;
    const key = createKey(scope, `CallKey-${name}`, {
      description: `Intent Gate: derives the keys that sign calls (${name})`,
      alias: `${gateName}/calls/${name}`,
      keySpec: KeySpec.HMAC_256,
      keyUsage: KeyUsage.GENERATE_VERIFY_MAC,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    return {
      arns: { 'call key': [key.keyArn] },
      environment: ({ callKey }) => ({ ...(callKey && { [signatureVariables.callKey]: key.keyArn }) }),
      keys: { callKey: { key, isUser: ({ callKey }) => callKey === true, action: 'kms:GenerateMac' } },
      data: [key],
    };
  },
};
