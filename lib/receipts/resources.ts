import { Duration } from 'aws-cdk-lib';
import { type IKey, Key, type KeySpec } from 'aws-cdk-lib/aws-kms';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { type AnyBucket, createBucket } from '../bucket.ts';
import { removalPolicyOf } from '../retention.ts';
import type { Settings } from '../settings.ts';
import { createKey } from '../signing-keys.ts';

/** Resources for receipts and their log, created or left by a deleted stack. */
export interface ReceiptResources {
  /** certifies the keys that sign receipts */
  readonly receiptKey: IKey;
  /** signs the log's checkpoints. The log's name derives from this key, so a new key begins a new log */
  readonly logKey: IKey;
  /** holds only the log */
  readonly bucket: AnyBucket;
}

/** Separate keys, so that functions that issue receipts cannot sign checkpoints, and vice versa. */
export function createReceiptResources(scope: Construct, settings: Settings, gateName: string, dataKey?: IKey): ReceiptResources {
  const { adopt = {} } = settings;
  const keyFor = (id: string, adoptedArn: string | undefined, alias: string, purpose: string) =>
    adoptedArn
      ? Key.fromKeyArn(scope, id, adoptedArn)
      : createKey(scope, id, {
          description: `Intent Gate: ${purpose}`,
          alias: `${gateName}/${alias}`,
          // not in the enumeration of the oldest supported aws-cdk-lib
          keySpec: 'ECC_NIST_EDWARDS25519' as KeySpec,
          removalPolicy: removalPolicyOf(settings),
        });
  const createLog = () =>
    createBucket(scope, 'ReceiptLog', settings, dataKey, {
      lifecycle: { noncurrentVersionExpiration: Duration.days(7) },
      unlogged: 'The content is public at /log, and any change to it is detectable.',
    });
  return {
    receiptKey: keyFor('ReceiptKey', adopt.receiptKey, 'receipts', 'certifies the keys that sign receipts'),
    logKey: keyFor('LogKey', adopt.logKey, 'log', 'signs checkpoints of the log of receipts'),
    bucket: adopt.receiptBucket ? Bucket.fromBucketName(scope, 'ReceiptLog', adopt.receiptBucket) : createLog(),
  };
}
