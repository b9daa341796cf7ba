import { openAdmission } from '../../../functions/core/execution/admit.ts';
import type { Action } from '../../../functions/core/http/serve.ts';
import { createAction, type Deps } from '../../../functions/mcp/mcp.ts';
import type { Gate } from '../gate.ts';
import { type Answer, invoke } from '../invoke.ts';
import { loadPolicyTemplate, openPolicy } from '../policy.ts';
import { toolCall } from '../tool-call.ts';

const none: Action = async () => ({ status: 200, body: {} });

/** The endpoints behind the tools, of which only executions do anything. */
export const toolEndpoints = (gate: Pick<Gate, 'openExecute'>): Deps['endpoints'] => ({
  searchIntents: none,
  getIntent: none,
  issuePat: none,
  executeIntent: gate.openExecute(),
  getExecution: none,
});

export const openMcp = (gate: Pick<Gate, 'openExecute' | 'openAuthenticate' | 'database'>, changes: Partial<Deps> = {}): Action =>
  createAction({
    endpoints: toolEndpoints(gate),
    admit: openAdmission(gate.openAuthenticate(loadPolicyTemplate()), gate.database.table),
    findPolicy: openPolicy(),
    isFreshRequired: false,
    isSignInOffered: false,
    allowedOrigins: [],
    version: '1',
    ...changes,
  });

/** Calls a tool. */
export const callTool = (
  mcp: Action,
  name: string,
  args: object | null,
  headers: Record<string, string> = {},
  path = '/mcp',
): Promise<Answer> => invoke(mcp, `POST ${path}`, { headers, body: toolCall(name, args, 'call-7') });
