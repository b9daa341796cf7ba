import { type CfnElement, Stack, Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** The id in the template of a construct's main resource, as cdk-nag names it. */
export const logicalIdOf = (construct: IConstruct): string => Stack.of(construct).getLogicalId(construct.node.defaultChild as CfnElement);

/** Suppresses cdk-nag rules for a construct, each with a reason. */
export function acknowledge(construct: IConstruct, reasons: Record<string, string>): void {
  const entries = Object.entries(reasons).map(([rule, reason]) => ({ id: `${rule.split('-', 1)[0]}::${rule}`, reason }));
  Validations.of(construct).acknowledge(...entries);
}
