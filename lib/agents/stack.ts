import { agentVariables } from '../../functions/agents/records.ts';
import type { FeatureStack } from '../feature-resources.ts';

export const agentsStack: FeatureStack = {
  create: (_, { settings }) => ({
    environment: ({ kms, issueChecks }) => ({
      ...((kms?.includes('sign') || issueChecks) && { [agentVariables.agents]: settings.agents }),
    }),
  }),
};
