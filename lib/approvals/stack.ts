import { Stack } from 'aws-cdk-lib';
import { approvalVariables } from '../../functions/approvals/environment.ts';
import type { FeatureStack } from '../feature-resources.ts';
import { permit } from '../permission.ts';

export const approvalsStack: FeatureStack = {
  permissions: ({ announces }) => (announces ? [permit('events:PutEvents', 'event bus', 'announces calls that wait for approval')] : []),
  create(scope, { settings }) {
    const { account, partition, region } = Stack.of(scope);
    return {
      arns: { 'event bus': [`arn:${partition}:events:${region}:${account}:event-bus/default`] },
      environment: ({ announces }) => ({ ...(announces && { [approvalVariables.approvalSeconds]: String(settings.approvalSeconds) }) }),
    };
  },
};
