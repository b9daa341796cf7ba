import * as cdk from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** The id in the template of a construct's main resource, as cdk-nag names it. */
export const logicalIdOf = (construct: IConstruct): string =>
  cdk.Stack.of(construct).getLogicalId(construct.node.defaultChild as cdk.CfnElement);

/** Suppresses cdk-nag rules for a construct, each with a reason. Versions of aws-cdk-lib without `Validations` work with an older cdk-nag, which ignores them. */
export function acknowledge(construct: IConstruct, reasons: Record<string, string>): void {
  if (!('Validations' in cdk)) return;
  const entries = Object.entries(reasons).map(([rule, reason]) => ({ id: `${rule.split('-', 1)[0]}::${rule}`, reason }));
  cdk.Validations.of(construct).acknowledge(...entries);
}
