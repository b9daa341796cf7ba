import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { BlockPublicAccess, Bucket, BucketEncryption } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import type { Settings } from './settings.ts';

/** Snapshots of the search index. They can be made again from the table at any time, so old ones expire. */
export function createSnapshotBucket(scope: Construct, { retainData }: Settings): Bucket {
  const bucket = new Bucket(scope, 'Snapshots', {
    encryption: BucketEncryption.S3_MANAGED,
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
    removalPolicy: retainData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    // A bucket that holds anything cannot be deleted.
    autoDeleteObjects: !retainData,
  });
  acknowledge(bucket, {
    'AwsSolutions-S1':
      'Only two functions can reach the bucket, and all that it holds is derived from the table; a second bucket of access logs would tell nothing more.',
  });
  return bucket;
}
