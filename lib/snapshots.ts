import { type CfnResource, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { BlockPublicAccess, Bucket, BucketEncryption } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { removalPolicyOf } from './retention.ts';
import type { Settings } from './settings.ts';

/** Bytes per intent in an index file, and copies that exist while it is rearranged. */
const indexBytes = { intent: 2_000, copies: 3 };

/** The resources of a function that holds a search index of the expected size. Lambda's default storage suffices for most. */
export function indexSize({ expectedIntents }: Settings, memoryMb: number): { storageMb: number; memoryMb: number } {
  const neededMb = Math.ceil((expectedIntents * indexBytes.intent * indexBytes.copies) / 2 ** 20);
  // A whole core, which opens and rearranges a large file twice as fast, comes with 1,769 MB of memory.
  return { storageMb: Math.max(512, neededMb), memoryMb: expectedIntents > 100_000 ? 1_769 : memoryMb };
}

/** Snapshots of the search index. They can be rebuilt from the table, so old ones expire. */
export function createSnapshotBucket(scope: Construct, settings: Settings, key?: IKey): Bucket {
  const { retainData } = settings;
  const bucket = new Bucket(scope, 'Snapshots', {
    ...(key
      ? { encryption: BucketEncryption.KMS, encryptionKey: key, bucketKeyEnabled: true }
      : { encryption: BucketEncryption.S3_MANAGED }),
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    enforceSSL: true,
    versioned: true,
    lifecycleRules: [
      {
        expiration: Duration.days(7),
        noncurrentVersionExpiration: Duration.days(1),
        abortIncompleteMultipartUploadAfter: Duration.days(1),
      },
    ],
    removalPolicy: removalPolicyOf(settings),
    // A bucket that is not empty cannot be deleted.
    autoDeleteObjects: !retainData,
  });
  acknowledge(bucket, {
    'AwsSolutions-S1':
      'Only two functions can reach the bucket, and its content is derived from the table; a second bucket for access logs would add nothing.',
  });
  if (!retainData) ownEmptyingLogs(bucket, settings);
  return bucket;
}

/** The logs of the CDK's function that empties the bucket would otherwise outlive the stack. */
export function ownEmptyingLogs(bucket: Bucket, { logRetentionDays }: Settings): void {
  const provider = Stack.of(bucket).node.findChild('Custom::S3AutoDeleteObjectsCustomResourceProvider');
  const handler = provider.node.findChild('Handler') as CfnResource;
  // Two gates of one stack share the function.
  const existing = Stack.of(bucket)
    .node.findAll()
    .find(({ node }) => node.id === 'EmptyingLogs');
  const logs =
    existing ??
    new LogGroup(bucket, 'EmptyingLogs', {
      logGroupName: `/aws/lambda/${handler.ref}`,
      retention: logRetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
  bucket.node.findChild('AutoDeleteObjectsCustomResource').node.addDependency(logs);
}
