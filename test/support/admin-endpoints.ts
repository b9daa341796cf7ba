import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { startSecrets } from '../../bin/local/secrets.ts';
import { createAction as approveAgent } from '../../functions/approve-agent.ts';
import { createAction as approveAgentDomain } from '../../functions/approve-agent-domain.ts';
import { createAction as blockAgent } from '../../functions/block-agent.ts';
import { createAction as changeIntents } from '../../functions/change-intents.ts';
import { createAction as clearWaitingAgents } from '../../functions/clear-waiting-agents.ts';
import { openAgents } from '../../functions/core/activity/agents.ts';
import { openApprovedDomains } from '../../functions/core/activity/approved-domains.ts';
import { openHistory } from '../../functions/core/activity/history.ts';
import { openExecutionStats } from '../../functions/core/activity/stats.ts';
import { type Admin, operator } from '../../functions/core/admin/admin.ts';
import type { AdminAction } from '../../functions/core/admin/for-admins.ts';
import { openApprovals, openDecisions } from '../../functions/core/approvals/approvals.ts';
import { openCredentials } from '../../functions/core/credentials/credentials.ts';
import { openSecretsManager } from '../../functions/core/credentials/vault.ts';
import { digestOfApproval } from '../../functions/core/execution/defer.ts';
import { type DeferredContent, openDeferredCalls } from '../../functions/core/execution/deferred-call-store.ts';
import { openRateLimiter } from '../../functions/core/limit/rate-limiter.ts';
import { openPolicy } from '../../functions/core/policy/policy.ts';
import { loadPolicyTemplate } from '../../functions/core/policy/published-policy.ts';
import { openChangeLog } from '../../functions/core/registry/change-log.ts';
import { openIntents } from '../../functions/core/registry/intents.ts';
import { findServices } from '../../functions/core/registry/service-list.ts';
import { openServices } from '../../functions/core/registry/services.ts';
import type { Table } from '../../functions/core/table/table.ts';
import { newUlid } from '../../functions/core/ulid.ts';
import { createAction as createIntent } from '../../functions/create-intent.ts';
import { createAction as createService } from '../../functions/create-service.ts';
import { createAction as decideApproval } from '../../functions/decide-approval.ts';
import { createAction as deleteAgent } from '../../functions/delete-agent.ts';
import { createAction as deleteIntent } from '../../functions/delete-intent.ts';
import { createAction as deleteService } from '../../functions/delete-service.ts';
import { createAction as deleteServiceCredential } from '../../functions/delete-service-credential.ts';
import { createAction as getAgent } from '../../functions/get-agent.ts';
import { createAction as getChange } from '../../functions/get-change.ts';
import { createAction as getPolicyTrial } from '../../functions/get-policy-trial.ts';
import { createAction as getStats } from '../../functions/get-stats.ts';
import { createAction as listAgentDomains } from '../../functions/list-agent-domains.ts';
import { createAction as listAgents } from '../../functions/list-agents.ts';
import { createAction as listApprovals } from '../../functions/list-approvals.ts';
import { createAction as listChanges } from '../../functions/list-changes.ts';
import { createAction as listExecutions } from '../../functions/list-executions.ts';
import { createAction as putServiceCredential } from '../../functions/put-service-credential.ts';
import { createAction as removeAgentDomain } from '../../functions/remove-agent-domain.ts';
import { createAction as revokeAgent } from '../../functions/revoke-agent.ts';
import { createAction as unblockAgent } from '../../functions/unblock-agent.ts';
import { createAction as updateIntent } from '../../functions/update-intent.ts';
import { createAction as updateService } from '../../functions/update-service.ts';
import { type Endpoint, endpoints } from '../../lib/endpoints.ts';
import type { LoggedChange } from '../../schemas/changes.ts';
import type { ApprovalContent } from '../../schemas/deferred.ts';
import { bindAgent } from './bind-agent.ts';
import { type Answer, byAdmin, invoke } from './invoke.ts';
import { intentOf, serviceNamed } from './records.ts';
import { egress } from './registry.ts';
import { startTable } from './table.ts';

/** The endpoints for admins only. */
export const adminEndpoints = endpoints.filter(({ credential }) => credential === 'admin');

/** Those that change something. */
export const changingEndpoints = adminEndpoints.filter(({ method }) => method !== 'GET');

type World = ReturnType<typeof openWorld>;

/** What a case has prepared. */
interface Prepared {
  path?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
  headers?: Record<string, string>;
}

/** How an endpoint is tried. A new endpoint for admins needs one. */
export interface Case {
  open(world: World): AdminAction;
  /** makes what the endpoint works on, in this namespace */
  prepare(world: World, namespace: string | undefined): Promise<Prepared>;
  /** what its entry in the log says; absent if it changes nothing */
  entry?: Pick<LoggedChange, 'kind' | 'action'>;
  /** its records belong to nobody's namespace: to full admins alone */
  isFullAdminsOnly?: true;
}

let count = 0;
const inNamespace = (namespace: string | undefined) => (namespace === undefined ? {} : { namespace });
const nextUid = (namespace = 'free.example') => `${namespace}:number-${++count}:v1`;

const newService = async ({ services }: World, namespace: string | undefined) =>
  (await services.create({ ...serviceNamed(`Service ${++count}`), ...inNamespace(namespace) })).service_id;

async function newIntent(world: World, namespace: string | undefined): Promise<string> {
  const uid = nextUid(namespace);
  await world.intents.create(await newService(world, namespace), intentOf(uid));
  return uid;
}

async function newAgent({ table }: World): Promise<Prepared> {
  const agent_id = `agent-${++count}`;
  await bindAgent(table, agent_id, `thumbprint-${count}`, Date.now());
  return { path: { agent_id } };
}

/** A call that waits for approval, as far as a denial needs it. */
async function newWaitingCall(table: Table, namespace: string | undefined) {
  const id = newUlid();
  const nowMs = Date.now();
  const request = { account: `account-${id}`, key: id, executionId: id, fingerprint: id, nowMs };
  const shown = { id, intent_uid: nextUid(namespace), parameters: {} } as ApprovalContent;
  const content = { shown, namespace, body: { parameters: {} }, baseUrl: '', requestId: '', intentDigest: '', trace: {} };
  await openDeferredCalls(table).begin(request, content as unknown as DeferredContent, nowMs + 60_000);
  return { id, digest: digestOfApproval(shown) };
}

const credential = { header_name: 'X-Api-Key', header_value: 'a-value-that-appears-nowhere' };

export const cases: Partial<Record<Endpoint['name'], Case>> = {
  'create-service': {
    open: createService,
    prepare: async (_, namespace) => ({ body: { ...serviceNamed(`Service ${++count}`), ...inNamespace(namespace) } }),
    entry: { kind: 'service', action: 'create' },
  },
  'update-service': {
    open: updateService,
    prepare: async (world, namespace) => {
      const service_id = await newService(world, namespace);
      return { path: { service_id }, body: { ...serviceNamed(`Service ${count}`), description: 'Says something else' } };
    },
    entry: { kind: 'service', action: 'update' },
  },
  'delete-service': {
    open: deleteService,
    prepare: async (world, namespace) => ({ path: { service_id: await newService(world, namespace) } }),
    entry: { kind: 'service', action: 'delete' },
  },
  'create-intent': {
    open: createIntent,
    prepare: async (world, namespace) => ({
      path: { service_id: await newService(world, namespace) },
      body: intentOf(nextUid(namespace)),
    }),
    entry: { kind: 'intent', action: 'create' },
  },
  'change-intents': {
    open: changeIntents,
    prepare: async (world, namespace) => ({
      path: { service_id: await newService(world, namespace) },
      body: { create: [intentOf(nextUid(namespace))] },
    }),
    entry: { kind: 'intent', action: 'create' },
  },
  'update-intent': {
    open: updateIntent,
    prepare: async (world, namespace) => {
      const intent_uid = await newIntent(world, namespace);
      return { path: { intent_uid }, body: intentOf(intent_uid, { description: 'Says something else' }) };
    },
    entry: { kind: 'intent', action: 'update' },
  },
  'delete-intent': {
    open: deleteIntent,
    prepare: async (world, namespace) => ({ path: { intent_uid: await newIntent(world, namespace) } }),
    entry: { kind: 'intent', action: 'delete' },
  },
  'put-service-credential': {
    open: putServiceCredential,
    prepare: async (world, namespace) => ({ path: { service_id: await newService(world, namespace) }, body: credential }),
    entry: { kind: 'service', action: 'credential' },
  },
  'delete-service-credential': {
    open: deleteServiceCredential,
    prepare: async (world, namespace) => {
      const service_id = await newService(world, namespace);
      const origins = ['https://world.example'];
      const value = { 'X-Api-Key': 'a-value-that-appears-nowhere' };
      const { version } = await world.credentials.add(service_id, { headers: value, query: {}, origins });
      const facts = { headers: Object.keys(value), query: [], origins, version, set_at: Date.now() };
      await world.services.setCredential(service_id, facts, () => true);
      return { path: { service_id } };
    },
    entry: { kind: 'service', action: 'credential' },
  },
  'get-agent': {
    open: (world) => getAgent({ ...world, findPolicy: openPolicy(loadPolicyTemplate()), limits: openRateLimiter(world.table) }),
    prepare: newAgent,
    isFullAdminsOnly: true,
  },
  'revoke-agent': { open: revokeAgent, prepare: newAgent, entry: { kind: 'agent', action: 'revoke' }, isFullAdminsOnly: true },
  'delete-agent': { open: deleteAgent, prepare: newAgent, entry: { kind: 'agent', action: 'unbind' }, isFullAdminsOnly: true },
  'list-agents': { open: listAgents, prepare: async () => ({}), isFullAdminsOnly: true },
  'block-agent': {
    open: (world) => blockAgent({ ...world, outwait: async () => {} }),
    prepare: async (world) => ({ ...(await newAgent(world)), body: { reason: 'Too many calls' } }),
    entry: { kind: 'agent', action: 'block' },
    isFullAdminsOnly: true,
  },
  'unblock-agent': {
    open: unblockAgent,
    prepare: async (world) => {
      const prepared = await newAgent(world);
      await world.agents.block(operator, { agentId: prepared.path?.agent_id ?? '' }, 'Too many calls');
      return prepared;
    },
    entry: { kind: 'agent', action: 'unblock' },
    isFullAdminsOnly: true,
  },
  'clear-waiting-agents': {
    open: clearWaitingAgents,
    // what the entry is about
    prepare: async ({ agents }) => {
      await agents.requestApproval({ agentId: `agent-${++count}`, thumbprint: `thumbprint-${count}`, nowMs: Date.now() });
      return { path: { agent_id: 'pending' }, query: { state: 'pending' } };
    },
    entry: { kind: 'agent', action: 'clear' },
    isFullAdminsOnly: true,
  },
  'approve-agent': {
    open: approveAgent,
    prepare: async ({ agents }) => {
      const agent_id = `agent-${++count}`;
      await agents.requestApproval({ agentId: agent_id, thumbprint: `thumbprint-${count}`, nowMs: Date.now() });
      return { path: { agent_id }, body: {} };
    },
    entry: { kind: 'agent', action: 'approve' },
    isFullAdminsOnly: true,
  },
  'list-agent-domains': {
    open: ({ table }) => listAgentDomains({ domains: openApprovedDomains(table) }),
    prepare: async () => ({}),
    isFullAdminsOnly: true,
  },
  'approve-agent-domain': {
    open: ({ table, changeLog }) => approveAgentDomain({ domains: openApprovedDomains(table, changeLog) }),
    prepare: async () => ({ path: { domain: `bot-${++count}.example` } }),
    entry: { kind: 'agent', action: 'approve' },
    isFullAdminsOnly: true,
  },
  'remove-agent-domain': {
    open: ({ table, changeLog }) => removeAgentDomain({ domains: openApprovedDomains(table, changeLog) }),
    prepare: async ({ table }) => {
      const domain = `bot-${++count}.example`;
      await openApprovedDomains(table).approve(operator, domain);
      return { path: { domain } };
    },
    entry: { kind: 'agent', action: 'unbind' },
    isFullAdminsOnly: true,
  },
  'list-approvals': { open: (world) => listApprovals({ ...world, approvals: openApprovals(world.table) }), prepare: async () => ({}) },
  'decide-approval': {
    open: (world) =>
      decideApproval({
        ...world,
        approvals: openApprovals(world.table),
        decisions: openDecisions(world.table, world.changeLog),
        deferred: openDeferredCalls(world.table),
        findPolicy: openPolicy(loadPolicyTemplate()),
        start: async () => {},
      }),
    prepare: async ({ table }, namespace) => {
      const { id, digest } = await newWaitingCall(table, namespace);
      return { path: { id }, headers: { 'If-Match': `"${digest}"` }, body: { decision: 'deny' } };
    },
    entry: { kind: 'execution', action: 'deny' },
  },
  'get-change': {
    open: getChange,
    prepare: async (world, namespace) => {
      await newService(world, namespace);
      return { path: { seq: String((await world.changeLog.head()).seq) } };
    },
  },
  'list-executions': {
    open: (world) => listExecutions({ ...world, history: openHistory(world.table) }),
    prepare: async () => ({ query: { from: '2026-03-01T00:00:00Z' } }),
    isFullAdminsOnly: true,
  },
  'get-policy-trial': {
    open: (world) =>
      getPolicyTrial({
        ...world,
        history: openHistory(world.table),
        findPolicy: openPolicy(loadPolicyTemplate(), undefined, loadPolicyTemplate()),
      }),
    prepare: async () => ({}),
    isFullAdminsOnly: true,
  },
  'list-changes': { open: listChanges, prepare: async () => ({}) },
  'get-stats': { open: getStats, prepare: async () => ({}) },
};

/** @throws if the endpoint has none */
export function caseOf({ name }: Pick<Endpoint, 'name'>): Case {
  const found = cases[name];
  if (!found) throw new Error(`give ${name} a case in test/support/admin-endpoints.ts`);
  return found;
}

const openWorld = (table: Table, credentials: ReturnType<typeof openCredentials>) => ({
  table,
  services: openServices(table),
  intents: openIntents(table),
  agents: openAgents(table),
  changeLog: openChangeLog(table),
  stats: openExecutionStats(table),
  findServices: (ids: string[]) => findServices(table, ids),
  credentials,
  egress,
});

/** All endpoints for admins, over a real table and Secrets Manager of their own, in this process. */
export async function startAdminEndpoints() {
  const [database, secrets] = await Promise.all([startTable(), startSecrets()]);
  const client = new SecretsManagerClient({
    endpoint: secrets.endpoint,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  const credentials = openCredentials(openSecretsManager('', client));
  /** the endpoints over a table: what they work with, and how they are called */
  const over = (table: Table) => {
    const world = openWorld(table, credentials);
    const call = (endpoint: Endpoint, prepared: Prepared, admin?: Admin): Promise<Answer> =>
      invoke(byAdmin(caseOf(endpoint).open(world), admin), `${endpoint.method} ${endpoint.path}`, prepared);
    return { world, call };
  };
  return {
    ...database,
    ...over(database.table),
    over,
    stop: async () => {
      client.destroy();
      await Promise.all([database.stop(), secrets.stop()]);
    },
  };
}
