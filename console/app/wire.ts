import type * as z from 'zod';
import type { agentPage } from '../../schemas/agent.ts';
import type { changePage } from '../../schemas/changes.ts';
import type { approvalPage } from '../../schemas/deferred.ts';
import type { cataloguePage, intentList } from '../../schemas/intent.ts';
import type { serviceList } from '../../schemas/service.ts';

/** Response types of the gate, from its schemas. */
export type CataloguePage = z.infer<typeof cataloguePage>;
export type IntentList = z.infer<typeof intentList>;
export type ServiceList = z.infer<typeof serviceList>;
export type AgentPage = z.infer<typeof agentPage>;
export type ApprovalPage = z.infer<typeof approvalPage>;
export type ChangePage = z.infer<typeof changePage>;
