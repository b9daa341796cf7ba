/** The socket of the features in the command line: each adds its commands, those of others' groups last. */
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { addAgents } from './agents/agents.ts';
import { addApprovals } from './approvals/approvals.ts';
import { addConnections } from './connections/connections.ts';
import { addMcp } from './mcp/mcp.ts';
import { addReceipts } from './receipts/commands.ts';
import { addPolicyTry } from './trial/policy-try.ts';
import { addTop } from './usage/top.ts';

export const features: readonly ((program: CommandUnknownOpts) => void)[] = [
  addMcp,
  addAgents,
  addApprovals,
  addConnections,
  addReceipts,
  addPolicyTry,
  addTop,
];
