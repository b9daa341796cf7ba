import { logicalIdOf } from './acknowledge.ts';
import type { AnyBucket } from './bucket.ts';

export interface Permission {
  actions: string[];
  /** names a resource of `arnsOf` in `permissions.ts`, or of a feature */
  on: string;
  /** prefixes of the partitions that it is limited to */
  partitions?: string[];
  why: string;
}

/** @param actions - separated by spaces */
export const permit = (actions: string, on: Permission['on'], why: string): Permission => ({ actions: actions.split(' '), on, why });

/** The ARN of a created or adopted bucket, as cdk-nag spells it. */
const describeArn = (bucket: AnyBucket): string =>
  bucket.node.defaultChild ? `<${logicalIdOf(bucket)}.Arn>` : `arn:<AWS::Partition>:s3:::${bucket.bucketName}`;

/** The name of cdk-nag's finding about a wildcard in the names of a bucket's objects. */
export const wildcardIn = (bucket: AnyBucket, names: string): string => `AwsSolutions-IAM5[Resource::${describeArn(bucket)}/${names}]`;
