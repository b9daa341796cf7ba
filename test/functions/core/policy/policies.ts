import { type Constraint, type Duty, odrlContext, type Policy, type PolicyPermission } from '../../../../schemas/policy.ts';

export const policyOf = (baseUrl: string, members: Partial<Policy>): Policy => ({
  '@context': odrlContext,
  uid: `${baseUrl}/api/policy`,
  type: 'Set',
  ...members,
});

export const execute = (target: string, constraint: Constraint[] = [], duty?: Duty[]): PolicyPermission => ({
  target,
  action: 'execute',
  constraint,
  ...(duty && { duty }),
});
