import { Duration } from 'aws-cdk-lib';
import { type IKey, type Key, KeySpec } from 'aws-cdk-lib/aws-kms';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { createBucket } from './bucket.ts';
import { removalPolicyOf } from './retention.ts';
import type { Settings } from './settings.ts';
import { createKey } from './signing-keys.ts';

/** Resources for receipts and their log. */
export interface ReceiptResources {
  /** certifies the keys that sign receipts */
  receiptKey: Key;
  /** signs the log's checkpoints. The log's name derives from this key, so a new key begins a new log */
  logKey: Key;
  /** holds only the log */
  bucket: Bucket;
}

/** Separate keys, so that functions that issue receipts cannot sign checkpoints, and vice versa. */
export function createReceiptResources(scope: Construct, settings: Settings, gateName: string, dataKey?: IKey): ReceiptResources {
  const keyFor = (id: string, alias: string, purpose: string) =>
    createKey(scope, id, {
      description: `Intent Gate: ${purpose}`,
      alias: `${gateName}/${alias}`,
      keySpec: KeySpec.ECC_NIST_EDWARDS25519,
      removalPolicy: removalPolicyOf(settings),
    });
  const bucket = createBucket(scope, 'ReceiptLog', settings, dataKey, {
    lifecycle: { noncurrentVersionExpiration: Duration.days(7) },
    unlogged: 'The content is public at /log, and any change to it is detectable.',
  });
  return {
    receiptKey: keyFor('ReceiptKey', 'receipts', 'certifies the keys that sign receipts'),
    logKey: keyFor('LogKey', 'log', 'signs checkpoints of the log of receipts'),
    bucket,
  };
}
