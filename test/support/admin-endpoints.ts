import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { startSecrets } from '../../bin/local/secrets.ts';
import { openAgents } from '../../functions/agents/agents.ts';
import { openApprovedDomains } from '../../functions/agents/approved-domains.ts';
import { requestApproval } from '../../functions/agents/waiting-agents.ts';
import { openApprovals } from '../../functions/approvals/approvals.ts';
import { digestOfApproval } from '../../functions/approvals/request.ts';
import { openHistory } from '../../functions/core/activity/history.ts';
import { type Admin, operator } from '../../functions/core/admin/admin.ts';
import type { AdminAction } from '../../functions/core/admin/for-admins.ts';
import { openCredentials } from '../../functions/core/credentials/credentials.ts';
import { openSecretsManager } from '../../functions/core/credentials/vault.ts';
import { type DeferredContent, openDeferredCalls } from '../../functions/core/execution/deferred-call-store.ts';
import { openRateLimiter } from '../../functions/core/limit/rate-limiter.ts';
import { loadPolicyTemplate, openPolicy } from '../../functions/core/policy/policy.ts';
import { openChangeLog } from '../../functions/core/registry/change-log.ts';
import { openIntents } from '../../functions/core/registry/intents.ts';
import { openServices } from '../../functions/core/registry/services.ts';
import { newUlid } from '../../functions/core/runtime/ulid.ts';
import type { Table } from '../../functions/core/table/table.ts';
import { openTrials } from '../../functions/trial/trial-verdict.ts';
import { openExecutionStats } from '../../functions/usage/stats.ts';
import { sourceOf } from '../../lib/bundle.ts';
import { type Endpoint, endpoints } from '../../lib/endpoints.ts';
import type { LoggedChange } from '../../schemas/changes.ts';
import type { ApprovalContent } from '../../schemas/deferred.ts';
import { bindAgent } from './bind-agent.ts';
import { type Answer, byAdmin, type Call, invoke } from './invoke.ts';
import { intentOf, serviceNamed } from './records.ts';
import { egress } from './registry.ts';
import { startTable } from './table.ts';

/** The endpoints for admins only. */
export const adminEndpoints = endpoints.filter(({ credential }) => credential === 'admin');

/** Those that change something. */
export const changingEndpoints = adminEndpoints.filter(({ method }) => method !== 'GET');

/** Whatever an endpoint for admins works with. */
function openWorld(table: Table, credentials: ReturnType<typeof openCredentials>) {
  const changeLog = openChangeLog(table);
  return {
    table,
    credentials,
    egress,
    changeLog,
    services: openServices(table),
    intents: openIntents(table),
    agents: openAgents(table),
    domains: openApprovedDomains(table, changeLog),
    approvals: openApprovals(table, changeLog),
    deferred: openDeferredCalls(table),
    history: openHistory(table),
    stats: openExecutionStats(table),
    limits: openRateLimiter(table),
    findPolicy: openPolicy(),
    findTrial: openTrials(loadPolicyTemplate()),
    start: async () => {},
    outwait: async () => {},
  };
}
type World = ReturnType<typeof openWorld>;

/** Makes what an endpoint works on, in this namespace. */
type Prepare = (world: World, namespace: string | undefined) => Promise<Call>;

/** How an endpoint is tried. A new endpoint for admins needs one. */
export interface Case {
  prepare: Prepare;
  /** what its entry in the log says; absent if it changes nothing */
  entry?: Pick<LoggedChange, 'kind' | 'action'>;
  /** its records belong to nobody's namespace: to full admins alone */
  isFullAdminsOnly?: true;
}

let count = 0;
const inNamespace = (namespace: string | undefined) => (namespace === undefined ? {} : { namespace });
const nextUid = (namespace = 'free.example') => `${namespace}:number-${++count}:v1`;
const nothing: Prepare = async () => ({});

async function newService({ services }: World, namespace: string | undefined): Promise<{ service_id: string }> {
  const { service_id } = await services.create({ ...serviceNamed(`Service ${++count}`), ...inNamespace(namespace) });
  return { service_id };
}

async function newIntent(world: World, namespace: string | undefined): Promise<{ intent_uid: string }> {
  const intent_uid = nextUid(namespace);
  await world.intents.create((await newService(world, namespace)).service_id, intentOf(intent_uid));
  return { intent_uid };
}

async function newAgent({ table }: World) {
  const agent_id = `agent-${++count}`;
  await bindAgent(table, agent_id, `thumbprint-${count}`, Date.now());
  return { path: { agent_id } };
}

/** An agent that waits for approval. */
async function newWaitingAgent({ table }: World) {
  const agent_id = `agent-${++count}`;
  await requestApproval(table, { agentId: agent_id, thumbprint: `thumbprint-${count}`, nowMs: Date.now() });
  return { path: { agent_id } };
}

/** A call that waits for approval, as far as a denial needs it. */
async function newWaitingCall({ deferred }: World, namespace: string | undefined) {
  const id = newUlid();
  const nowMs = Date.now();
  const request = { account: `account-${id}`, key: id, executionId: id, fingerprint: id, nowMs };
  const shown = { id, intent_uid: nextUid(namespace), parameters: {} } as ApprovalContent;
  const claims = { sub: id, cnf: { jkt: id } };
  const call = { claims, body: { parameters: {} }, changed: {}, omitted: [] };
  const content = { ...call, shown, namespace, baseUrl: '', requestId: '', intentDigest: '', trace: {} };
  await deferred.begin(request, content as unknown as DeferredContent, nowMs + 60_000, nowMs);
  return { id, digest: digestOfApproval(shown) };
}

const changes = (kind: LoggedChange['kind'], action: LoggedChange['action'], prepare: Prepare): Case => ({
  prepare,
  entry: { kind, action },
});
const ofAgents = (prepare: Prepare, action?: LoggedChange['action']): Case => ({
  ...(action ? changes('agent', action, prepare) : { prepare }),
  isFullAdminsOnly: true,
});

export const cases: Partial<Record<Endpoint['name'], Case>> = {
  'create-service': changes('service', 'create', async (_, namespace) => ({
    body: { ...serviceNamed(`Service ${++count}`), ...inNamespace(namespace) },
  })),
  'update-service': changes('service', 'update', async (world, namespace) => {
    const path = await newService(world, namespace);
    return { path, body: { ...serviceNamed(`Service ${count}`), description: 'Says something else' } };
  }),
  'delete-service': changes('service', 'delete', async (world, namespace) => ({ path: await newService(world, namespace) })),
  'create-intent': changes('intent', 'create', async (world, namespace) => ({
    path: await newService(world, namespace),
    body: intentOf(nextUid(namespace)),
  })),
  'change-intents': changes('intent', 'create', async (world, namespace) => ({
    path: await newService(world, namespace),
    body: { create: [intentOf(nextUid(namespace))] },
  })),
  'update-intent': changes('intent', 'update', async (world, namespace) => {
    const path = await newIntent(world, namespace);
    return { path, body: intentOf(path.intent_uid, { description: 'Says something else' }) };
  }),
  'delete-intent': changes('intent', 'delete', async (world, namespace) => ({ path: await newIntent(world, namespace) })),
  'put-service-credential': changes('service', 'credential', async (world, namespace) => ({
    path: await newService(world, namespace),
    body: { header_name: 'X-Api-Key', header_value: 'a-value-that-appears-nowhere' },
  })),
  'delete-service-credential': changes('service', 'credential', async (world, namespace) => {
    const path = await newService(world, namespace);
    const origins = ['https://world.example'];
    const headers = { 'X-Api-Key': 'a-value-that-appears-nowhere' };
    const { version } = await world.credentials.add(path.service_id, { headers, query: {}, origins });
    const facts = { headers: Object.keys(headers), query: [], origins, version, set_at: Date.now() };
    await world.services.setCredential(path.service_id, facts, () => true);
    return { path };
  }),
  'get-agent': ofAgents(newAgent),
  'revoke-agent': ofAgents(newAgent, 'revoke'),
  'delete-agent': ofAgents(newAgent, 'unbind'),
  'list-agents': ofAgents(nothing),
  'block-agent': ofAgents(async (world) => ({ ...(await newAgent(world)), body: { reason: 'Too many calls' } }), 'block'),
  'unblock-agent': ofAgents(async (world) => {
    const { path } = await newAgent(world);
    await world.agents.block(operator, { agentId: path.agent_id }, 'Too many calls');
    return { path };
  }, 'unblock'),
  'clear-waiting-agents': ofAgents(async (world) => {
    await newWaitingAgent(world);
    // what the entry is about
    return { path: { agent_id: 'pending' }, query: { state: 'pending' } };
  }, 'clear'),
  'approve-agent': ofAgents(async (world) => ({ ...(await newWaitingAgent(world)), body: {} }), 'approve'),
  'list-agent-domains': ofAgents(nothing),
  'approve-agent-domain': ofAgents(async () => ({ path: { domain: `bot-${++count}.example` } }), 'approve'),
  'remove-agent-domain': ofAgents(async ({ domains }) => {
    const domain = `bot-${++count}.example`;
    await domains.approve(operator, domain);
    return { path: { domain } };
  }, 'unbind'),
  'list-approvals': { prepare: nothing },
  'decide-approval': changes('execution', 'deny', async (world, namespace) => {
    const { id, digest } = await newWaitingCall(world, namespace);
    return { path: { id }, headers: { 'If-Match': `"${digest}"` }, body: { decision: 'deny' } };
  }),
  'get-change': {
    prepare: async (world, namespace) => {
      await newService(world, namespace);
      return { path: { seq: String((await world.changeLog.head()).seq) } };
    },
  },
  'list-executions': ofAgents(async () => ({ query: { from: '2026-03-01T00:00:00Z' } })),
  'get-policy-trial': ofAgents(nothing),
  'list-changes': { prepare: nothing },
  'get-stats': { prepare: nothing },
};

/** @throws if the endpoint has none */
export function caseOf({ name }: Pick<Endpoint, 'name'>): Case {
  const found = cases[name];
  if (!found) throw new Error(`give ${name} a case in test/support/admin-endpoints.ts`);
  return found;
}

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
    const call = async ({ name, method, path }: Endpoint, prepared: Call, admin?: Admin): Promise<Answer> => {
      const { createAction } = (await import(`../../${sourceOf(name)}`)) as { createAction(deps: World): AdminAction };
      return invoke(byAdmin(createAction(world), admin), `${method} ${path}`, prepared);
    };
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
