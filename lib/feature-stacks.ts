/** The socket of the features in the synthesis: a line for each feature that has resources. */
import type { FeatureStack } from './feature-stack.ts';
import { receiptStack } from './receipts/stack.ts';

export const featureStacks: readonly FeatureStack[] = [receiptStack];
