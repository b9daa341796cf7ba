import { Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** Rules of cdk-nag that a construct does not follow, each with the reason why. */
export function acknowledge(construct: IConstruct, reasons: Record<string, string>): void {
  const entries = Object.entries(reasons).map(([rule, reason]) => ({ id: `${rule.split('-', 1)[0]}::${rule}`, reason }));
  Validations.of(construct).acknowledge(...entries);
}
