import { readerOf } from '../core/runtime/environment.ts';

/** The environment variables of statistics. */
export const usageVariables = {
  /** `true`: search results and intents say how calls of the last day have fared */
  showHealth: 'SHOW_HEALTH',
} as const;

export const readUsageEnvironment = readerOf(usageVariables);
