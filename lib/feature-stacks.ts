/**
 * The socket of the features in the synthesis: a line for each feature that has resources. The bare imports bring members that features add to `Gate`
 * into the types of the package.
 */
import './receipts/stack.ts';
import type { FeatureStack } from './feature-stack.ts';
import { receiptStack } from './receipts/stack.ts';

export const featureStacks: readonly FeatureStack[] = [receiptStack];
