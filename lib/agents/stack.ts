import { variables } from '../../functions/core/runtime/environment.ts';
import type { FeatureStack } from '../feature-resources.ts';

export const agentsStack = {
  create: (_, { settings }) => ({ environment: ({ kms }) => ({ ...(kms?.includes('sign') && { [variables.agents]: settings.agents }) }) }),
} satisfies FeatureStack;
