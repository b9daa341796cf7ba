import { Duration } from 'aws-cdk-lib';
import { type IKey, type Key, KeySpec } from 'aws-cdk-lib/aws-kms';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { createBucket } from './bucket.ts';
import { removalPolicyOf } from './retention.ts';
import type { Settings } from './settings.ts';
import { createKey } from './signing-keys.ts';

/** What receipts take. */
export interface ReceiptResources {
  /** certifies the keys that sign receipts */
  receiptKey: Key;
  /** signs the checkpoints of the log. The log is named after it, so that a new key begins a new log */
  logKey: Key;
  /** the log, and nothing else */
  bucket: Bucket;
}

/** Functions that give receipts cannot sign checkpoints, and the one that signs checkpoints cannot give receipts. */
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
    unlogged: 'What the bucket holds is public at /log, and any change of it shows.',
  });
  return {
    receiptKey: keyFor('ReceiptKey', 'receipts', 'certifies the keys that sign receipts'),
    logKey: keyFor('LogKey', 'log', 'signs checkpoints of the log of receipts'),
    bucket,
  };
}
