import { constants, verify } from 'node:crypto';
import type { AgentKey, KeyKind } from './agent-key.ts';

type Options = { padding?: number; saltLength?: number; dsaEncoding?: 'ieee-p1363' | 'der' };

interface Algorithm {
  kind: KeyKind;
  hash: 'sha256' | 'sha384' | null;
  options: Options;
}

const { RSA_PKCS1_PADDING, RSA_PKCS1_PSS_PADDING, RSA_PSS_SALTLEN_AUTO } = constants;
const ed25519: Algorithm = { kind: 'Ed25519', hash: null, options: {} };

/** JWS algorithms for agents (RFC 7518, RFC 8037, RFC 9864). jose cannot verify bare signatures, so node:crypto verifies both. */
const jwsAlgorithms: Record<string, Algorithm> = {
  RS256: { kind: 'RSA', hash: 'sha256', options: { padding: RSA_PKCS1_PADDING } },
  PS256: { kind: 'RSA', hash: 'sha256', options: { padding: RSA_PKCS1_PSS_PADDING, saltLength: 32 } },
  ES256: { kind: 'P-256', hash: 'sha256', options: { dsaEncoding: 'ieee-p1363' } },
  ES384: { kind: 'P-384', hash: 'sha384', options: { dsaEncoding: 'ieee-p1363' } },
  EdDSA: ed25519,
  Ed25519: ed25519,
};

export const jwsAlgorithmNames = Object.keys(jwsAlgorithms);

/** Algorithms of bare signatures, as common tools create them. */
const bareAlgorithms: readonly Algorithm[] = [
  { kind: 'RSA', hash: 'sha256', options: { padding: RSA_PKCS1_PADDING } },
  { kind: 'RSA', hash: 'sha256', options: { padding: RSA_PKCS1_PSS_PADDING, saltLength: RSA_PSS_SALTLEN_AUTO } },
  ...(['ieee-p1363', 'der'] as const).flatMap((dsaEncoding): Algorithm[] => [
    { kind: 'P-256', hash: 'sha256', options: { dsaEncoding } },
    { kind: 'P-384', hash: 'sha384', options: { dsaEncoding } },
    { kind: 'P-384', hash: 'sha256', options: { dsaEncoding } },
  ]),
  ed25519,
];

const holds = ({ kind, hash, options }: Algorithm, agentKey: AgentKey, data: Buffer, signature: Buffer): boolean =>
  kind === agentKey.kind && verify(hash, data, { key: agentKey.key, ...options }, signature);

export function verifyJwsSignature(name: string, key: AgentKey, data: Buffer, signature: Buffer): boolean {
  const algorithm = Object.hasOwn(jwsAlgorithms, name) ? jwsAlgorithms[name] : undefined;
  return algorithm !== undefined && holds(algorithm, key, data, signature);
}

/** For signatures without a named algorithm: PKCS1-v1_5, PSS, ECDSA as DER or r||s, Ed25519. */
export const verifyBareSignature = (key: AgentKey, data: Buffer, signature: Buffer): boolean =>
  bareAlgorithms.some((algorithm) => holds(algorithm, key, data, signature));
