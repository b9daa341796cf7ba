import * as z from 'zod';
import { keyArn } from '../settings/kinds.ts';

export const receiptSettings = {
  receipts: z
    .enum(['off', 'keyed', 'all'], 'must be off, keyed or all')
    .default('off')
    .describe(
      'which executions get a [receipt](receipts.md): those with an `Idempotency-Key` (`keyed`), `all`, or none (`off`); needs two KMS keys, each with a monthly price. Switched off, it leaves them and the bucket, which only `adopt` takes up again',
    ),
};

/** The parts of a log of receipts that a deleted stack left. */
export const receiptAdoption = {
  receiptKey: keyArn.optional(),
  logKey: keyArn.optional(),
  receiptBucket: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of an S3 bucket')
    .optional(),
};

/** How their logical ids begin. With one part missing, a second log would begin under the first one's name or in its bucket. */
const ids = { receiptKey: 'ReceiptKey', logKey: 'LogKey', receiptBucket: 'ReceiptLog' } as const;

type Adopted = Partial<Record<keyof typeof ids, string>>;

/** What is wrong with adopted parts, each with its place in `adopt`. */
export function findAdoptionProblems(adopt: Adopted, { receipts }: Readonly<Record<string, unknown>>): [place: string, problem: string][] {
  const parts = Object.keys(ids) as (keyof typeof ids)[];
  const given = parts.filter((name) => adopt[name]);
  const [first] = given;
  if (!first) return [];
  const missing = parts
    .filter((name) => !adopt[name])
    .map((name): [string, string] => [
      name,
      `must be given with ${given.join(' and ')}. "aws cloudformation describe-stack-events --stack-name <ARN of the stack that left them>" lists it with the status DELETE_SKIPPED; its LogicalResourceId begins with ${ids[name]}`,
    ]);
  return [
    ...missing,
    ...(receipts === 'off' ? [[first, 'needs receipts: keyed or all'] as [string, string]] : []),
    ...(adopt.logKey && adopt.logKey === adopt.receiptKey ? [['logKey', 'must differ from receiptKey'] as [string, string]] : []),
  ];
}
