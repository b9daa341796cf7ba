import { Stack } from 'aws-cdk-lib';
import { approvalVariables } from '../../functions/approvals/environment.ts';
import type { FeatureStack } from '../feature-resources.ts';
import { permit } from '../permission.ts';

export const approvalsStack: FeatureStack = {
  permissions: ({ announces, notifies }) => [
    ...(announces ? [permit('events:PutEvents', 'event bus', 'announces calls that wait for approval')] : []),
    ...(notifies ? [permit('secretsmanager:GetSecretValue', 'webhook secret', 'signs notices')] : []),
  ],
  create(scope, { settings: { approvalSeconds, notify } }) {
    const { account, partition, region } = Stack.of(scope);
    return {
      arns: {
        'event bus': [`arn:${partition}:events:${region}:${account}:event-bus/default`],
        // Secrets Manager adds six random characters to the name
        ...(notify && { 'webhook secret': [`arn:${partition}:secretsmanager:${region}:${account}:secret:${notify.secret}-??????`] }),
      },
      environment: ({ announces, notifies }) => ({
        ...(announces && { [approvalVariables.approvalSeconds]: String(approvalSeconds) }),
        ...(notifies && notify && { [approvalVariables.notify]: notify.url, [approvalVariables.notifySecret]: notify.secret }),
      }),
    };
  },
};
