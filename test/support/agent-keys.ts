import { createHash, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { CompactSign, calculateJwkThumbprint, FlattenedSign, type JWK } from 'jose';

/** An agent's key pair, made at run time. */
export interface TestAgent {
  kind: string;
  privateKey: KeyObject;
  publicKey: KeyObject;
  /** the JWS algorithms of its kind */
  algorithms: string[];
  pem: string;
  jwk: JWK;
  thumbprint: string;
}

const makers: Record<string, { make: () => { privateKey: KeyObject; publicKey: KeyObject }; algorithms: string[] }> = {
  RSA: { make: () => generateKeyPairSync('rsa', { modulusLength: 2048 }), algorithms: ['RS256', 'PS256'] },
  'P-256': { make: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }), algorithms: ['ES256'] },
  'P-384': { make: () => generateKeyPairSync('ec', { namedCurve: 'P-384' }), algorithms: ['ES384'] },
  Ed25519: { make: () => generateKeyPairSync('ed25519'), algorithms: ['EdDSA', 'Ed25519'] },
};

export const kinds = Object.keys(makers);

export async function makeAgent(kind = 'P-256'): Promise<TestAgent> {
  const { make, algorithms } = makers[kind] as (typeof makers)[string];
  const { privateKey, publicKey } = make();
  const jwk = publicKey.export({ format: 'jwk' }) as JWK;
  return {
    kind,
    privateKey,
    publicKey,
    algorithms,
    pem: publicKey.export({ format: 'pem', type: 'spki' }).toString(),
    jwk,
    thumbprint: await calculateJwkThumbprint(jwk),
  };
}

/** A compact JWS over a text, as a common library makes it. */
export const signJws = (agent: TestAgent, payload: string | Buffer, header: object = {}): Promise<string> =>
  new CompactSign(Buffer.from(payload)).setProtectedHeader({ alg: agent.algorithms[0] as string, ...header }).sign(agent.privateKey);

/** A compact JWS with detached payload; with `b64: false` if the header says so (RFC 7797). */
export async function signDetached(agent: TestAgent, payload: string, header: object = {}): Promise<string> {
  const { protected: segment, signature } = await new FlattenedSign(Buffer.from(payload))
    .setProtectedHeader({ alg: agent.algorithms[0] as string, ...header })
    .sign(agent.privateKey);
  return `${segment}..${signature}`;
}

/** A DPoP proof (RFC 9449 section 4.2); `claims` and `header` replace those of a valid one. */
export function signProof(
  agent: TestAgent,
  { method = 'POST', url, token }: { method?: string; url: string; token?: string },
  claims: object = {},
  header: object = {},
): Promise<string> {
  const honest = {
    jti: randomUUID(),
    htm: method,
    htu: url,
    iat: Math.floor(Date.now() / 1000),
    ...(token !== undefined && { ath: createHash('sha256').update(token).digest('base64url') }),
  };
  return signJws(agent, JSON.stringify({ ...honest, ...claims }), { typ: 'dpop+jwt', jwk: agent.jwk, ...header });
}

/** Every form in which a public key may be sent. */
export function keyForms({ publicKey, pem, jwk }: TestAgent): [string, string][] {
  const der = publicKey.export({ format: 'der', type: 'spki' });
  return [
    ['PEM', pem],
    ['PEM with CRLF', pem.replaceAll('\n', '\r\n')],
    ['PEM with a byte order mark', `\ufeff${pem}`],
    ['PEM with a leading space', ` ${pem}`],
    ['base64 of PEM', Buffer.from(pem).toString('base64')],
    ['base64url of PEM', Buffer.from(pem).toString('base64url')],
    ['base64 of DER', der.toString('base64')],
    ['base64url of DER', der.toString('base64url')],
    ['base64 of DER in lines', der.toString('base64').replace(/.{64}/g, '$&\n')],
    ['JWK', JSON.stringify(jwk)],
    ['JWK with kid, alg and use', JSON.stringify({ kid: 'mine', use: 'sig', ...jwk })],
    ['base64url of JWK', Buffer.from(JSON.stringify(jwk)).toString('base64url')],
  ];
}
