import { openConnections } from '../../../functions/connections/connections.ts';
import { openIssuers } from '../../../functions/connections/issuers.ts';
import type { Prepare } from '../admin-case.ts';
import type { TestedFeature } from '../feature.ts';
import { serviceNamed } from '../records.ts';

let count = 0;

/** A service with a client whose issuer cannot be reached. */
const newService: Prepare = async ({ services, credentials }, namespace) => {
  const { service_id } = await services.create({ ...serviceNamed(`Connected ${++count}`), ...(namespace && { namespace }) });
  const client = { client_id: 'gate', grant: 'client' as const, token_endpoint: 'http://127.0.0.1:1/token' };
  const origins = ['https://world.example'];
  const { version } = await credentials.add(service_id, { headers: {}, query: {}, origins, oauth: client });
  const facts = { headers: ['Authorization'], query: [], origins, oauth: client, version, set_at: Date.now() };
  await services.setCredential(service_id, facts, () => true);
  return { path: { service_id } };
};

export const connections: TestedFeature = {
  stores: (table) => ({
    connections: openConnections(table),
    issuers: openIssuers({ rules: { ports: [443], allowLoopback: true, ownHosts: [] } }),
  }),
  cases: { 'get-service-connections': { prepare: newService }, 'test-service-credential': { prepare: newService, changesNothing: true } },
};
