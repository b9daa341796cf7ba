import { randomUUID } from 'node:crypto';
import { openConnections } from '../../../functions/connections/connections.ts';
import { openGrants } from '../../../functions/connections/grants.ts';
import { openIssuers } from '../../../functions/connections/issuers.ts';
import { personGrantKeys } from '../../../functions/connections/records.ts';
import { openSealer } from '../../../functions/connections/seal.ts';
import { aroundWith, openTokens as open } from '../../../functions/connections/tokens.ts';
import { openKms } from '../../../functions/core/aws/kms.ts';
import { nest } from '../../../functions/core/execution/around.ts';
import { personOf, signedInAgentId } from '../../../functions/core/pat/holder.ts';
import { newClaims, signPat } from '../../../functions/core/pat/token.ts';
import type { EgressRules } from '../../../functions/core/relay/egress.ts';
import type { Table } from '../../../functions/core/table/table.ts';
import { createAction as createPut } from '../../../functions/put-service-credential.ts';
import { bindAgent } from '../bind-agent.ts';
import { baseUrl, type Gate } from '../gate.ts';
import { byAdmin, invoke } from '../invoke.ts';
import { loadPolicyTemplate, openPolicy } from '../policy.ts';
import { intentOf } from '../records.ts';

const rules = { ports: [443], allowLoopback: true, ownHosts: [] };

/** What obtains tokens, over the table and the KMS of a gate. Each part that is opened is a new instance. */
export function openConnectionParts(gate: Gate, { timeoutMs = 1_000 }: { timeoutMs?: number } = {}) {
  const { table } = gate.database;
  const access = { endpoint: gate.kms.endpoint, region: 'eu-west-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };
  const kms = openKms(access);
  const issuers = openIssuers({ rules, timeoutMs });
  const openSeal = () => openSealer(kms, String(gate.kms.keyIds[0]));
  let count = 0;

  /** A new instance of what obtains the tokens of calls. */
  function openTokens({ over = table, now = Date.now }: { over?: Table; now?: () => number } = {}) {
    const grants = openGrants(over, openSeal(), now);
    const obtain = open({ table: over, grants, credentials: gate.credentials, issuers: openIssuers({ rules, timeoutMs }), now });
    return { obtain, around: nest(aroundWith(obtain)), relatedKeysOf: personGrantKeys };
  }

  /** Gives a service a credential. */
  async function putCredential(serviceId: string, body: object, egress: EgressRules = rules) {
    const action = createPut({ services: gate.services, credentials: gate.credentials, egress });
    return invoke(byAdmin(action), 'PUT /api/services/{service_id}/credential', { path: { service_id: serviceId }, body });
  }

  return {
    issuers,
    connections: openConnections(table),
    openGrants: (now = Date.now) => openGrants(table, openSeal(), now),

    openTokens,

    putCredential,

    /** A service with one intent, whose upstream is at this origin. @returns its id and the intent's uid */
    async newService(origin: string, oauth: object, more: object = {}): Promise<{ serviceId: string; uid: string }> {
      const name = `connected-${++count}-${randomUUID().slice(0, 8)}`;
      const service = { service_name: name, service_url: 'https://world.example', description: 'Facts about the world' };
      const { service_id: serviceId } = await gate.services.create(service);
      const { status, body } = await putCredential(serviceId, { oauth, origins: [origin], ...more });
      if (status !== 200) throw new Error(JSON.stringify(body));
      const uid = `test.example:${name}:v1`;
      const endpoint = { url: `${origin}/countries`, method: 'POST', content_type: 'application/json' } as const;
      await gate.intents.create(serviceId, intentOf(uid, { endpoint }));
      return { serviceId, uid };
    },

    /** Obtains what a call of a person, or of an agent that acts for nobody, carries. */
    async obtain(tokens: ReturnType<typeof openTokens> | undefined, serviceId: string, subject?: string) {
      const service = await gate.services.find(serviceId);
      const stored = service?.credential;
      if (!stored) throw new Error('the service has no credential');
      const principal = subject === undefined ? 'thumbprint-1' : personOf(subject);
      const [key] = personGrantKeys(serviceId, principal);
      const grant = key && (await table.get(key));
      const url = `${stored.origins[0]}/countries`;
      return (tokens ?? openTokens()).obtain({ service, stored, principal, grant, baseUrl, url });
    },

    /** A PAT of a person who has signed in with a program. */
    async newPersonPat(subject: string, clientId = 'https://host.example/client.json'): Promise<string> {
      const agentId = signedInAgentId(subject, clientId);
      const agent = await bindAgent(table, agentId, personOf(subject));
      if (!agent) throw new Error('the person is blocked');
      const policy = await openPolicy(loadPolicyTemplate())(baseUrl);
      const facts = { hasProof: false, domain: undefined, clientId, nowMs: Date.now(), lifeSeconds: 3_600 };
      return signPat(gate.signingKeys, newClaims({ baseUrl, agent, policy, ...facts }));
    },
  };
}

export type ConnectionParts = ReturnType<typeof openConnectionParts>;
