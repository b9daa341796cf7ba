import { toBase64, toBase64Url } from './bytes.ts';
import type { KeyPair, WebCryptoKey } from './keys.ts';

interface Algorithm {
  alg: string;
  /** for WebCrypto's `sign` */
  parameters: { name: string; hash?: string; saltLength?: number };
}

const ecAlgorithms: Record<string, Algorithm> = {
  'P-256': { alg: 'ES256', parameters: { name: 'ECDSA', hash: 'SHA-256' } },
  'P-384': { alg: 'ES384', parameters: { name: 'ECDSA', hash: 'SHA-384' } },
};
const otherAlgorithms: Record<string, Algorithm> = {
  Ed25519: { alg: 'EdDSA', parameters: { name: 'Ed25519' } },
  'RSASSA-PKCS1-v1_5': { alg: 'RS256', parameters: { name: 'RSASSA-PKCS1-v1_5' } },
  'RSA-PSS': { alg: 'PS256', parameters: { name: 'RSA-PSS', saltLength: 32 } },
};

function algorithmOf({ algorithm }: WebCryptoKey): Algorithm {
  const { name, namedCurve = '', hash } = algorithm as { name: string; namedCurve?: string; hash?: { name: string } };
  const found = name === 'ECDSA' ? ecAlgorithms[namedCurve] : otherAlgorithms[name];
  if (found && (hash === undefined || hash.name === 'SHA-256')) return found;
  throw new TypeError('The key must be one of ECDSA with P-256 or P-384, Ed25519, or RSA with SHA-256.');
}

export const sha256 = async (text: string): Promise<string> =>
  toBase64Url(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));

const encode = (value: unknown): string => toBase64Url(new TextEncoder().encode(JSON.stringify(value)));

export async function signJws({ privateKey }: KeyPair, header: object, payload: unknown): Promise<string> {
  const { alg, parameters } = algorithmOf(privateKey);
  const signed = `${encode({ alg, ...header })}.${encode(payload)}`;
  const signature = await crypto.subtle.sign(parameters, privateKey, new TextEncoder().encode(signed));
  return `${signed}.${toBase64Url(signature)}`;
}

export async function publicJwk({ publicKey }: KeyPair): Promise<Record<string, string>> {
  const { kty, crv, x, y, n, e } = await crypto.subtle.exportKey('jwk', publicKey);
  const members = { kty, crv, x, y, n, e };
  return Object.fromEntries(Object.entries(members).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

export async function publicPem({ publicKey }: KeyPair): Promise<string> {
  const lines = toBase64(await crypto.subtle.exportKey('spki', publicKey)).match(/.{1,64}/g) ?? [];
  return ['-----BEGIN PUBLIC KEY-----', ...lines, '-----END PUBLIC KEY-----', ''].join('\n');
}

interface ProofTarget {
  method: string;
  url: string;
  /** PAT to which the proof is bound */
  pat?: string;
  nowMs: number;
}

/** A proof of possession for one request (RFC 9449 section 4.2). */
export async function makeProof(key: KeyPair, { method, url, pat, nowMs }: ProofTarget): Promise<string> {
  const claims = {
    jti: crypto.randomUUID(),
    htm: method,
    htu: url,
    iat: Math.floor(nowMs / 1000),
    ...(pat !== undefined && { ath: await sha256(pat) }),
  };
  return signJws(key, { typ: 'dpop+jwt', jwk: await publicJwk(key) }, claims);
}
