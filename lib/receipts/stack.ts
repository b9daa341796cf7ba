import { receiptVariables as variables } from '../../functions/receipts/environment.ts';
import type { FeatureStack } from '../feature-resources.ts';
import { permit, wildcardIn } from '../permission.ts';
import { createReceiptResources, type ReceiptResources } from './resources.ts';

const permissions = {
  give: [permit('kms:Sign kms:GetPublicKey', 'receipt key', 'certifies the keys with which instances sign receipts')],
  log: [
    permit('kms:Sign kms:GetPublicKey', 'log key', 'signs checkpoints of the log of receipts'),
    permit('kms:GetPublicKey', 'receipt key', 'publishes the key'),
    permit('s3:GetObject s3:PutObject', 'log of receipts', 'writes the log of receipts'),
    permit('s3:ListBucket', 'log bucket', 'distinguishes a missing object from a forbidden one'),
  ],
  read: [
    permit('kms:GetPublicKey', 'keys of receipts', 'publishes the keys'),
    permit('s3:GetObject', 'log of receipts', 'reads the log of receipts'),
    permit('s3:ListBucket', 'log bucket', 'distinguishes a missing object from a forbidden one'),
  ],
};

/** Members of the gate, absent if `receipts` is `off`. */
export interface Members {
  /** keys and bucket of the log of receipts */
  readonly receipts: ReceiptResources;
}

export const receiptStack: FeatureStack<Members> = {
  permissions: ({ receipts }) => (receipts ? permissions[receipts] : []),
  create(scope, { settings, gateName, dataKey }) {
    if (settings.receipts === 'off') return undefined;
    const receipts = createReceiptResources(scope, settings, gateName, dataKey);
    const { receiptKey, logKey, bucket } = receipts;
    return {
      arns: {
        'receipt key': [receiptKey.keyArn],
        'log key': [logKey.keyArn],
        'keys of receipts': [receiptKey.keyArn, logKey.keyArn],
        'log of receipts': [`${bucket.bucketArn}/*`],
        'log bucket': [bucket.bucketArn],
      },
      environment: ({ receipts: need }) => ({
        ...(need && { [variables.receiptKey]: receiptKey.keyArn }),
        ...(need === 'give' && { [variables.receipts]: settings.receipts }),
        ...((need === 'log' || need === 'read') && {
          [variables.logKey]: logKey.keyArn,
          [variables.logBucket]: bucket.bucketName,
        }),
      }),
      keys: {
        receiptKey: { key: receiptKey, isUser: (needs) => needs.receipts === 'give' },
        logKey: { key: logKey, isUser: (needs) => needs.receipts === 'log' },
      },
      members: { receipts },
      data: [receiptKey, logKey],
      wildcards: { [wildcardIn(bucket, '*')]: 'The bucket contains only the log.' },
    };
  },
};
