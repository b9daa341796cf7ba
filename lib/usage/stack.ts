import { usageVariables } from '../../functions/usage/environment.ts';
import type { FeatureStack } from '../feature-resources.ts';

export const usageStack: FeatureStack = {
  create: (_, { settings }) => ({
    environment: ({ table }) => ({ ...(table?.health && settings.showHealth && { [usageVariables.showHealth]: 'true' }) }),
  }),
};
