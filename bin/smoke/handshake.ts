import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { intentPage } from '../../schemas/intent.ts';
import { patClaims, patType } from '../../schemas/pat.ts';
import { policy } from '../../schemas/policy.ts';
import { createAgent, tamper } from '../demo/agent.ts';
import { call, DemoFailure, type Exchange, expectStatus, readBody, readError } from '../demo/call.ts';

/** One thing that was looked at. */
export interface Observation {
  name: string;
  status: number;
  durationMs: number;
  /** in a few words */
  seen: string;
}

export interface HandshakeOptions {
  /** what stands for `proto` */
  protocol: string;
  /** an intent to run */
  intentUid?: string | undefined;
  parameters: object;
}

/** No deployment has it; asking for it shows that a PAT is accepted without running anything. */
const nobodysIntent = 'smoke.example:nobody-has-this:v1';

const observe = (name: string, { status, durationMs }: Exchange, seen: string): Observation => ({ name, status, durationMs, seen });

/**
 * Plays an agent against a deployment, from its health to a forged PAT. Registers nothing, and runs nothing unless it is told an intent.
 * @param baseUrl - without a trailing slash
 * @throws DemoFailure at the first thing that is not as it should be
 */
export async function* shakeHands(baseUrl: string, { protocol, intentUid, parameters }: HandshakeOptions): AsyncGenerator<Observation> {
  const get = async (path: string) => expectStatus(await call('GET', `${baseUrl}${path}`), 200);
  const execute = (uid: string, values: object, bearer?: string) =>
    call('POST', `${baseUrl}/api/intents/execute`, { ...(bearer && { bearer }), body: { intent_uid: uid, parameters: values } });

  yield observe('health', await get('/health'), 'up');

  const jwks = await get('/.well-known/jwks.json');
  const keySet = jwks.body as JSONWebKeySet;
  yield observe('public keys', jwks, `${keySet.keys.length}`);

  const found = await get('/api/intents/search?page_size=1');
  yield observe('search', found, `${readBody(intentPage, found).pagination.total_results} intents`);

  const terms = await get('/api/policy');
  yield observe('policy', terms, readBody(policy, terms).uid);

  const agent = await createAgent();
  const issued = expectStatus(
    await call('POST', `${baseUrl}/api/pat/issue`, {
      body: { agent_id: agent.id, signed_policy: await agent.sign(terms.body), agent_public_key: agent.publicKeyPem },
    }),
    200,
  );
  const pat = String((issued.body as Record<string, unknown>)[`${protocol}-pat`]);
  const claims = await verify(pat, keySet);
  yield observe('PAT', issued, `verifies, for ${claims.scope.join(', ')}, until ${new Date(claims.exp * 1000).toISOString()}`);

  const unknown = expectStatus(await execute(nobodysIntent, {}, pat), 404);
  yield observe('PAT is accepted', unknown, readError(unknown.body).code);

  const forged = expectStatus(await execute(nobodysIntent, {}, tamper(pat)), 401);
  yield observe('forged PAT is refused', forged, readError(forged.body).code);

  const missing = expectStatus(await execute(nobodysIntent, {}), 401);
  yield observe('missing PAT is refused', missing, readError(missing.body).code);

  const nowhere = expectStatus(await call('GET', `${baseUrl}/nothing/here`), 404);
  yield observe('unknown path is refused', nowhere, readError(nowhere.body).code);

  if (intentUid !== undefined) {
    const executed = expectStatus(await execute(intentUid, parameters, pat), 200);
    yield observe('intent', executed, JSON.stringify(executed.body).slice(0, 120));
  }
}

async function verify(pat: string, keySet: JSONWebKeySet) {
  try {
    const { payload } = await jwtVerify(pat, createLocalJWKSet(keySet), { algorithms: ['ES256'], typ: patType });
    return patClaims.parse(payload);
  } catch (error) {
    throw new DemoFailure('The PAT does not verify with the keys of /.well-known/jwks.json.', { cause: error });
  }
}
