import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import * as z from 'zod';
import { type Exchange, openHttp } from '../client/http.ts';
import { issuePath, readPat } from '../client/pats.ts';
import { readAnswer } from '../registry/api.ts';
import { CliFailure } from '../registry/failure.ts';
import { intentPage } from '../schemas/intent-pages.ts';
import { keyPatClaims, patType } from '../schemas/pat.ts';
import { policy } from '../schemas/policy.ts';
import { expectStatus, readError, signPolicy, tamper } from './probes.ts';

export type Observation = [name: string, answer: Exchange, seen: string];

export interface HandshakeOptions {
  intentUid?: string | undefined;
  parameters: object;
}

const publicKeys = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });

/** An unknown intent, with which a PAT can be tested without executing anything. */
const unknownIntentUid = 'smoke.example:nobody-has-this:v1';

/**
 * Acts as an agent against a deployment. Registers nothing, and executes nothing unless an intent is given.
 * @param url - without a trailing slash
 * @throws CliFailure or IntentGateError at the first failed check
 */
export async function* shakeHands(url: string, { intentUid, parameters }: HandshakeOptions): AsyncGenerator<Observation> {
  const http = openHttp({ url });
  const get = async (path: string) => expectStatus(await http.exchange('GET', path), 200);
  const execute = (intent_uid: string, values: object, bearer?: string) =>
    http.exchange('POST', '/api/intents/execute', { bearer, body: { intent_uid, parameters: values } });

  yield ['health', await get('/health'), 'up'];

  const jwks = await get('/.well-known/jwks.json');
  const keySet: JSONWebKeySet = readAnswer(publicKeys, jwks);
  yield ['public keys', jwks, `${keySet.keys.length}`];

  const found = await get('/api/intents/search?page_size=1');
  yield ['search', found, `${readAnswer(intentPage, found).pagination.total_results} intents`];

  const read = await get('/api/policy');
  yield ['policy', read, readAnswer(policy, read).uid];

  // sign the policy as served: parsing would reorder its members
  const body = await signPolicy(http, 'smoke', read.body as ReturnType<typeof policy.parse>);
  const issued = expectStatus(await http.exchange('POST', issuePath, { body }), 200);
  const { text: pat } = readPat(issued, http.now());
  const claims = await verify(pat, keySet);
  yield ['PAT', issued, `verifies, for ${claims.scope.join(', ')}, until ${new Date(claims.exp * 1000).toISOString()}`];

  const refusals: [name: string, answer: Exchange, status: number][] = [
    ['PAT is accepted', await execute(unknownIntentUid, {}, pat), 404],
    ['forged PAT is refused', await execute(unknownIntentUid, {}, tamper(pat)), 401],
    ['missing PAT is refused', await execute(unknownIntentUid, {}), 401],
    ['unknown path is refused', await http.exchange('GET', '/nothing/here'), 404],
  ];
  for (const [name, answer, status] of refusals) yield [name, answer, readError(expectStatus(answer, status)).code];

  if (intentUid !== undefined) {
    const executed = expectStatus(await execute(intentUid, parameters, pat), 200);
    yield ['intent', executed, JSON.stringify(executed.body).slice(0, 120)];
  }
}

async function verify(pat: string, keySet: JSONWebKeySet) {
  try {
    const { payload } = await jwtVerify(pat, createLocalJWKSet(keySet), { algorithms: ['ES256'], typ: patType });
    return keyPatClaims.parse(payload);
  } catch (cause) {
    throw new CliFailure('failure', 'The PAT cannot be verified with the keys at /.well-known/jwks.json.', { cause });
  }
}
