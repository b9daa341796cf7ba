import { Duration } from 'aws-cdk-lib';
import { PolicyDocument } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key, KeySpec, KeyUsage } from 'aws-cdk-lib/aws-kms';
import { BlockPublicAccess, Bucket, BucketEncryption } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { removalPolicyOf } from './retention.ts';
import type { Settings } from './settings.ts';
import { administrationOfAccount } from './signing-keys.ts';
import { ownEmptyingLogs } from './snapshots.ts';

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
    new Key(scope, id, {
      description: `Intent Gate: ${purpose}`,
      alias: `${gateName}/${alias}`,
      keySpec: KeySpec.ECC_NIST_EDWARDS25519,
      keyUsage: KeyUsage.SIGN_VERIFY,
      pendingWindow: Duration.days(7),
      removalPolicy: removalPolicyOf(settings),
      policy: new PolicyDocument({ statements: [administrationOfAccount()] }),
    });
  const bucket = new Bucket(scope, 'ReceiptLog', {
    ...(dataKey
      ? { encryption: BucketEncryption.KMS, encryptionKey: dataKey, bucketKeyEnabled: true }
      : { encryption: BucketEncryption.S3_MANAGED }),
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    enforceSSL: true,
    versioned: true,
    lifecycleRules: [{ noncurrentVersionExpiration: Duration.days(7), abortIncompleteMultipartUploadAfter: Duration.days(1) }],
    removalPolicy: removalPolicyOf(settings),
    autoDeleteObjects: !settings.retainData,
  });
  acknowledge(bucket, { 'AwsSolutions-S1': 'What the bucket holds is public at /log, and any change of it shows.' });
  if (!settings.retainData) ownEmptyingLogs(bucket, settings);
  return {
    receiptKey: keyFor('ReceiptKey', 'receipts', 'certifies the keys that sign receipts'),
    logKey: keyFor('LogKey', 'log', 'signs checkpoints of the log of receipts'),
    bucket,
  };
}
