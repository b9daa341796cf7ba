/**
 * The socket of the features in the console: each adds sections. `admin/features.ts` lists what admins see of them, because only admins load that.
 */
import { agents } from './agents/section.ts';
import { approvals } from './approvals/section.ts';
import { connections } from './connections/connections.tsx';
import { receiptsView } from './receipts/view.tsx';
import type { Section, SectionLink } from './section.ts';
import { usage } from './usage/section.ts';

export const features: readonly Section[] = [connections, receiptsView];

/** Links for admins. */
export const adminFeatures: readonly SectionLink[] = [approvals, agents, usage];
