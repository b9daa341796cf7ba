import { agentVariables } from '../../functions/agents/records.ts';
import type { FeatureStack } from '../feature-resources.ts';

export const agentsStack: FeatureStack = {
  create: (_, { settings }) => ({
    environment: ({ kms }) => ({ ...(kms?.includes('sign') && { [agentVariables.agents]: settings.agents }) }),
  }),
};
