/** The socket of the features in the console's views for admins. */
import { agentsView } from '../agents/agents.tsx';
import { approvalsView } from '../approvals/approvals.tsx';
import { connectionsView } from '../connections/oauth-client.tsx';
import { mcpUpstreamsView } from '../mcp-upstreams/section.ts';
import type { AdminSection } from '../section.ts';
import { trialView } from '../trial/policy-trial.tsx';
import { usageView } from '../usage/usage.tsx';

export const featureViews: readonly AdminSection[] = [approvalsView, agentsView, usageView, trialView, connectionsView, mcpUpstreamsView];
