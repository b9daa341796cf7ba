import { type CfnResource, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { BlockPublicAccess, Bucket, BucketEncryption, type IBucket, type LifecycleRule } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { removalPolicyOf } from './retention.ts';
import type { Settings } from './settings.ts';

/** A bucket, created or imported. */
export type AnyBucket = Omit<IBucket, 'isWebsite'>;

/**
 * A private bucket, emptied and deleted with its stack unless `retainData` is set.
 * @param unlogged - why requests to it are not logged
 */
export function createBucket(
  scope: Construct,
  id: string,
  settings: Settings,
  key: IKey | undefined,
  { lifecycle, unlogged }: { lifecycle: LifecycleRule; unlogged: string },
): Bucket {
  const bucket = new Bucket(scope, id, {
    ...(key
      ? { encryption: BucketEncryption.KMS, encryptionKey: key, bucketKeyEnabled: true }
      : { encryption: BucketEncryption.S3_MANAGED }),
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    enforceSSL: true,
    versioned: true,
    lifecycleRules: [{ ...lifecycle, abortIncompleteMultipartUploadAfter: Duration.days(1) }],
    removalPolicy: removalPolicyOf(settings),
    autoDeleteObjects: !settings.retainData,
  });
  // A bucket that outlives the stack keeps the policy that refuses requests without TLS.
  bucket.policy?.applyRemovalPolicy(removalPolicyOf(settings));
  acknowledge(bucket, { 'AwsSolutions-S1': unlogged });
  if (!settings.retainData) ownEmptyingLogs(bucket, settings);
  return bucket;
}

/** Adds a log group for the CDK function that empties the bucket, whose logs would otherwise outlive the stack. */
function ownEmptyingLogs(bucket: Bucket, { logRetentionDays }: Settings): void {
  const provider = Stack.of(bucket).node.findChild('Custom::S3AutoDeleteObjectsCustomResourceProvider');
  const handler = provider.node.findChild('Handler') as CfnResource;
  // Gates in one stack share the function.
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
