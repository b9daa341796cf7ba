import { createHash } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { Context } from 'aws-lambda';
import { openUsedJtis } from '../../../../functions/core/activity/used-jti.ts';
import { readRequest } from '../../../../functions/core/http/request.ts';
import { openProofs } from '../../../../functions/core/pat/proof.ts';
import { keys } from '../../../../functions/core/table/keys.ts';
import type { PatClaims } from '../../../../schemas/pat.ts';
import { kinds, makeAgent, signJws, signProof, type TestAgent } from '../../../support/agent-keys.ts';
import { eventOf } from '../../../support/invoke.ts';
import { startTable } from '../../../support/table.ts';

const address = 'https://api.example/test';
const path = '/api/intents/execute';
const url = address + path;
const token = 'aaa.bbb.ccc';
const now = Math.floor(Date.now() / 1000);

const store = await startTable();
afterAll(() => store.stop());

const agents = await Promise.all(kinds.map((kind) => makeAgent(kind)));
const [agent, thief] = [await makeAgent(), await makeAgent()];

interface Use {
  /** values of the header DPoP */
  proof?: string | string[];
  by?: TestAgent;
  scheme?: string;
  isRequired?: boolean;
  dpop?: true;
}

async function use({ proof, by = agent, scheme = 'Bearer', isRequired = false, dpop }: Use): Promise<void> {
  const headers = { Authorization: `${scheme} ${token}`, ...(proof !== undefined && { DPoP: proof }) };
  const request = readRequest(eventOf(`POST ${path}`, { headers }), {} as Context, { protocol: 'proto' });
  const claims = { cnf: { jkt: by.thumbprint }, ...(dpop && { dpop }) } as PatClaims;
  const checked = await openProofs(openUsedJtis(store.table), isRequired).checkAtUse(request, token, claims, now * 1000);
  await checked?.use();
}

const make = (claims: object = {}, header: object = {}, by = agent) => signProof(by, { url, token }, { iat: now, ...claims }, header);

const refusal = (message: string) => ({
  code: 'UNAUTHORIZED',
  status: 401,
  message,
  headers: { 'WWW-Authenticate': 'DPoP realm="intent-gate", error="invalid_dpop_proof", algs="RS256 PS256 ES256 ES384 EdDSA Ed25519"' },
});

describe('a proof', () => {
  test.each(agents.flatMap((by) => by.algorithms.map((alg) => [by.kind, alg, by] as const)))(
    'a proof by %s with %s is accepted',
    async (_, alg, by) => {
      await use({ by, proof: await make({}, { alg }, by), dpop: true });
      await use({ by, proof: await make({}, { alg }, by), scheme: 'DPoP' });
      await use({ by, proof: await make({}, { alg }, by), isRequired: true });
    },
  );

  test.each([
    ['may have a query and a fragment in htu', { htu: `${url}?a=b#c` }],
    ['may spell the address differently', { htu: 'HTTPS://API.example:443/test/api/intents/execute' }],
    ['may come from a slow clock', { iat: now - 299 }],
    ['may come from a fast clock', { iat: now + 299 }],
    ['may state fractions of a second', { iat: now + 0.25 }],
    ['may be just young enough', { iat: now - 299.875 }],
    ['may have other claims', { nonce: 'x' }],
  ])('a proof %s', async (_, claims) => {
    await use({ proof: await make(claims) });
  });

  test('a proof with a fraction is forgotten at a whole second, as the table requires', async () => {
    await use({ proof: await make({ iat: now + 0.25, jti: 'fraction' }) });
    expect(await store.table.get(keys.jti(`proof:${agent.thumbprint}`, 'fraction'))).toMatchObject({ expires_at: now + 301 + 3_600 });
  });

  test('a proof is not required for a plain PAT', async () => {
    store.operations.length = 0;
    await use({});
    expect(store.operations).toEqual([]);
  });

  test.each<[string, Use]>([
    ['the PAT was issued with one', { dpop: true }],
    ['the deployment requires it', { isRequired: true }],
    ['the PAT comes as DPoP', { scheme: 'DPoP' }],
    ['the PAT comes as dpop', { scheme: 'dpop' }],
  ])('a proof is required if %s', async (_, how) => {
    await expect(use(how)).rejects.toMatchObject(
      refusal('The PAT is bound to its key. Send a DPoP header (RFC 9449) made with that key and this PAT.'),
    );
  });

  const header = 'The header of the DPoP proof must have the typ dpop+jwt, an alg and a jwk, and no crit. Make it again.';
  const signature = 'The signature of the DPoP proof does not verify with the jwk in its header. Make it again.';
  const target = 'The htm and htu of the DPoP proof must be the method and the address of this request. Make it again.';
  const ath = 'The ath of the DPoP proof must be the SHA-256 of the PAT that it is sent with, in base64url. Make it again.';
  const iat = 'The iat of the DPoP proof must be a number of seconds since 1970. Sign it again.';
  const age = "The iat of the DPoP proof must be within 300 seconds of the gate's time. Set your clock, and sign it again.";
  const jti = 'The jti of the DPoP proof must be a string of 1 to 255 characters that differs for every signature. Sign it again.';
  const compact = 'The DPoP proof is not a compact JWS: three parts in base64url without padding, separated by dots. Sign it again.';
  const keyForms =
    'The jwk of the DPoP proof must be a public key: PEM (SPKI), base64 of PEM or of DER SPKI, or a JWK; RSA of at least 2048 bits, P-256, P-384 or Ed25519.';
  const otherKey = 'The DPoP proof was not made with the key that the agent presented. Use that key.';

  const unsigned = Buffer.from(JSON.stringify({ alg: 'none', typ: 'dpop+jwt', jwk: agent.jwk })).toString('base64url');

  test.each<[string, () => Promise<string>, string]>([
    ['no JWS', async () => 'x', compact],
    ['padding', async () => `${await make()}=`, compact],
    ['a thief', () => make({}, {}, thief), otherKey],
    ['a thief who sends our key', () => make({}, { jwk: agent.jwk }, thief), signature],
    ['another typ', () => make({}, { typ: 'JWT' }), header],
    ['no jwk', () => make({}, { jwk: undefined }), keyForms],
    [
      'a private jwk',
      () => make({}, { jwk: agent.privateKey.export({ format: 'jwk' }) }),
      'The jwk of the DPoP proof must be the public key, but a private key was sent: treat it as leaked, and create a new pair.',
    ],
    ['a changed payload', async () => (await make()).replace(/\.[^.]+\./, '.e30.'), signature],
    ['an exchanged header', async () => (await make()).replace(/^[^.]+/, unsigned), signature],
    ['a payload that is no JSON', () => signJws(agent, 'x', { typ: 'dpop+jwt', jwk: agent.jwk }), target],
    ['another method', () => make({ htm: 'GET' }), target],
    ['a method in small letters', () => make({ htm: 'post' }), target],
    ['another scheme', () => make({ htu: url.replace('https', 'http') }), target],
    ['another path', () => make({ htu: `${address}/api/pat/issue` }), target],
    ['no address', () => make({ htu: path }), target],
    ['another host', () => make({ htu: url.replace('api.example', 'fake.example') }), target],
    ['no ath', () => make({ ath: undefined }), ath],
    ['the ath of another PAT', () => make({ ath: createHash('sha256').update('other').digest('base64url') }), ath],
    ['no iat', () => make({ iat: undefined }), iat],
    ['iat in ten minutes', () => make({ iat: now + 600 }), age],
    ['iat ten minutes ago', () => make({ iat: now - 600 }), age],
    ['iat a moment too late', () => make({ iat: now + 300.875 }), age],
    ['iat before 1970', () => make({ iat: -0.5 }), iat],
    ['iat as text', () => make({ iat: String(now) }), iat],
    ['an empty jti', () => make({ jti: '' }), jti],
    ['a jti of 256 characters', () => make({ jti: 'j'.repeat(256) }), jti],
  ])('a proof with %s is refused, even if none is required, and consumes nothing', async (_, build, message) => {
    store.operations.length = 0;
    await expect(use({ proof: await build() })).rejects.toMatchObject(refusal(message));
    expect(store.operations).toEqual([]);
  });

  test('a proof must be sent once', async () => {
    await expect(use({ proof: [await make(), await make()] })).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      status: 400,
      details: { issues: [{ path: '', problem: 'the header dpop must be sent once' }] },
    });
  });
});
