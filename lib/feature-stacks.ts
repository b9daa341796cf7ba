/** The socket of the features in the synthesis: a line for each feature that has resources, permissions, variables or files of its own. */
import { agentsStack } from './agents/stack.ts';
import { approvalsStack } from './approvals/stack.ts';
import { connectionsStack } from './connections/stack.ts';
import type { Merged } from './declaration.ts';
import { documentsStack } from './documents/stack.ts';
import type { FeatureStack } from './feature-resources.ts';
import { opensearchStack } from './opensearch/stack.ts';
import { receiptStack } from './receipts/stack.ts';
import { signInStack } from './sign-in/stack.ts';
import { usageStack } from './usage/stack.ts';
import { webBotAuthStack } from './web-bot-auth/stack.ts';

/** A tuple, from whose members those of the gate derive. */
const stacks = [
  documentsStack,
  approvalsStack,
  agentsStack,
  signInStack,
  webBotAuthStack,
  connectionsStack,
  opensearchStack,
  receiptStack,
  usageStack,
] as const satisfies readonly FeatureStack[];

type MembersOf<Stack> = Stack extends FeatureStack<infer Members> ? Members : never;

/** What features add to the gate as a construct. */
export type FeatureMembers = Partial<Merged<MembersOf<(typeof stacks)[number]>>>;

export const featureStacks: readonly FeatureStack[] = stacks;
