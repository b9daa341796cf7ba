import { Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** Suppresses cdk-nag rules for a construct, each with a reason. */
export function acknowledge(construct: IConstruct, reasons: Record<string, string>): void {
  const entries = Object.entries(reasons).map(([rule, reason]) => ({ id: `${rule.split('-', 1)[0]}::${rule}`, reason }));
  Validations.of(construct).acknowledge(...entries);
}
