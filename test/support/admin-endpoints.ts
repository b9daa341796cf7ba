import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { startSecrets } from '../../bin/local/secrets.ts';
import { openHistory } from '../../functions/core/activity/history.ts';
import type { Admin } from '../../functions/core/admin/admin.ts';
import type { AdminAction } from '../../functions/core/admin/for-admins.ts';
import { openCredentials } from '../../functions/core/credentials/credentials.ts';
import { openSecretsManager } from '../../functions/core/credentials/vault.ts';
import { openRateLimiter } from '../../functions/core/limit/rate-limiter.ts';
import { openChangeLog } from '../../functions/core/registry/change-log.ts';
import { openIntents } from '../../functions/core/registry/intents.ts';
import { openPublisher } from '../../functions/core/registry/publish-policy.ts';
import { openServices } from '../../functions/core/registry/services.ts';
import type { Table } from '../../functions/core/table/table.ts';
import { sourceOf } from '../../lib/bundle.ts';
import { type Endpoint, endpoints } from '../../lib/endpoints.ts';
import { type AdminCase, changes } from './admin-case.ts';
import { features } from './features.ts';
import { baseUrl } from './gate.ts';
import { type Answer, byAdmin, type Call, invoke } from './invoke.ts';
import { compiledText, loadPolicyTemplate, openInForce } from './policy.ts';
import { intentOf, serviceNamed } from './records.ts';
import { egress } from './registry.ts';
import { startTable } from './table.ts';

/** The endpoints for admins only. */
export const adminEndpoints = endpoints.filter(({ credential }) => credential === 'admin');

/** Those that change something. */
export const changingEndpoints = adminEndpoints.filter(({ method }) => method !== 'GET');

/** Whatever an endpoint for admins works with; features add more. */
function openWorld(table: Table, credentials: ReturnType<typeof openCredentials>) {
  const changeLog = openChangeLog(table);
  return {
    table,
    credentials,
    egress,
    changeLog,
    services: openServices(table),
    intents: openIntents(table),
    history: openHistory(table),
    limits: openRateLimiter(table),
    findPolicy: openInForce(table),
    publisher: openPublisher(changeLog, compiledText),
    ...(Object.assign({}, ...features.map(({ stores }) => stores?.(table, changeLog))) as object),
  };
}
export type World = ReturnType<typeof openWorld>;

let count = 0;
const inNamespace = (namespace: string | undefined) => (namespace === undefined ? {} : { namespace });
const nextUid = (namespace = 'free.example') => `${namespace}:number-${++count}:v1`;

async function newService({ services }: World, namespace: string | undefined): Promise<{ service_id: string }> {
  const { service_id } = await services.create({ ...serviceNamed(`Service ${++count}`), ...inNamespace(namespace) });
  return { service_id };
}

async function newIntent(world: World, namespace: string | undefined): Promise<{ intent_uid: string }> {
  const intent_uid = nextUid(namespace);
  await world.intents.create((await newService(world, namespace)).service_id, intentOf(intent_uid));
  return { intent_uid };
}

const cases: Partial<Record<Endpoint['name'], AdminCase>> = {
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
  'get-change': {
    prepare: async (world, namespace) => {
      await newService(world, namespace);
      return { path: { seq: String((await world.changeLog.head()).seq) } };
    },
  },
  'list-executions': { prepare: async () => ({ query: { from: '2026-03-01T00:00:00Z' } }), isFullAdminsOnly: true },
  'list-changes': { prepare: async () => ({}), isForAll: true },
  'publish-policy': {
    ...changes(
      'policy',
      'publish',
      async ({ findPolicy }) => ({
        headers: { 'If-Match': (await findPolicy(baseUrl)).digest },
        body: { ...loadPolicyTemplate(), uid: `{base_url}/policies/${++count}` },
      }),
      'policy',
    ),
    isFullAdminsOnly: true,
  },
  ...Object.assign({}, ...features.map(({ cases }) => cases)),
};

/** @throws if the endpoint has none */
export function caseOf({ name }: Pick<Endpoint, 'name'>): AdminCase {
  const found = cases[name];
  if (!found) throw new Error(`give ${name} a case in test/support/admin-endpoints.ts or its feature`);
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
