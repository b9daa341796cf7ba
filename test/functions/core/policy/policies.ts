import { PolicyError } from '../../../../functions/core/policy/reading.ts';
import type { Issue } from '../../../../schemas/errors.ts';
import { type Constraint, type Duty, odrlContext, type Policy, type PolicyPermission } from '../../../../schemas/policy.ts';

export const policyOf = (baseUrl: string, members: Partial<Policy>): Policy => ({
  '@context': odrlContext,
  uid: `${baseUrl}/api/policy`,
  type: 'Set',
  ...members,
});

export const when = (leftOperand: string, operator: string, rightOperand: Constraint['rightOperand'], unit?: string): Constraint => ({
  leftOperand,
  operator: operator as Constraint['operator'],
  rightOperand,
  ...(unit !== undefined && { unit }),
});

export const execute = (target: string, constraint: Constraint[] = [], duty?: Duty[]): PolicyPermission => ({
  target,
  action: 'execute',
  constraint,
  ...(duty && { duty }),
});

/** The issues for which an action refuses a policy; empty if it accepts it. */
export function issuesIn(act: () => unknown): readonly Issue[] {
  try {
    act();
  } catch (error) {
    if (error instanceof PolicyError) return error.issues;
    throw error;
  }
  return [];
}
