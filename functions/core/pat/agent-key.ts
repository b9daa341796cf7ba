import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import type { ApiError } from '../api-error.ts';
import { isObject, parseJson } from '../json.ts';
import { thumbprintOf } from './thumbprint.ts';

export type KeyKind = 'RSA' | 'P-256' | 'P-384' | 'Ed25519';

/** An agent's public key, in any encoding. */
export interface AgentKey {
  kind: KeyKind;
  key: KeyObject;
  /** RFC 7638; independent of the encoding */
  thumbprint: string;
}

export type RefuseKey = (problem: string) => ApiError;

const forms =
  'must be a public key: PEM (SPKI), base64 of PEM or of DER SPKI, or a JWK; RSA of at least 2048 bits, P-256, P-384 or Ed25519';
const isPrivateProblem = 'must be the public key, but a private key was sent: treat it as leaked, and create a new pair';

const pem = /^-----BEGIN PUBLIC KEY-----\s+([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----$/;
const base64 = /^[A-Za-z0-9+/]+={0,2}$|^[A-Za-z0-9_-]+={0,2}$/;
const sequenceTag = 0x30;

/**
 * Reads `agent_public_key`, ignoring surrounding white space and the kind of line ends.
 * @throws the error of `refuse` if the key is unreadable, private, too weak or of another kind
 */
export async function readAgentKey(text: string, refuse: RefuseKey): Promise<AgentKey> {
  const trimmed = text.trim();
  if (trimmed.startsWith('{')) return importJwk(parseJwk(trimmed, refuse), refuse);
  if (trimmed.startsWith('-----BEGIN')) return importPem(trimmed, refuse);
  const compact = trimmed.replace(/\s/g, '');
  if (!base64.test(compact)) throw refuse(forms);
  const bytes = Buffer.from(compact, 'base64');
  if (bytes[0] === sequenceTag) return importDer(bytes, refuse);
  const inner = bytes.toString('utf8').trim();
  if (inner.startsWith('{')) return importJwk(parseJwk(inner, refuse), refuse);
  return importPem(inner, refuse);
}

/**
 * Reads a public JWK (RFC 7517) with coordinates of full length that is not marked for another use.
 * @throws the error of `refuse`
 */
export async function importJwk(jwk: unknown, refuse: RefuseKey): Promise<AgentKey> {
  if (!isObject(jwk)) throw refuse(forms);
  const { kty, crv, x, y, n, e, use, key_ops } = jwk;
  if (['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'].some((member) => Object.hasOwn(jwk, member))) throw refuse(isPrivateProblem);
  if (use !== undefined && use !== 'sig') throw refuse('must be a key for signatures: its use must be sig or left out');
  if (key_ops !== undefined && !(Array.isArray(key_ops) && key_ops.includes('verify'))) {
    throw refuse('must be a key for signatures: its key_ops must contain verify or be left out');
  }
  if (kty === 'EC' && crv === 'P-256' && isBase64Url(x, 32) && isBase64Url(y, 32)) return importFrom({ kty, crv, x, y }, refuse);
  if (kty === 'EC' && crv === 'P-384' && isBase64Url(x, 48) && isBase64Url(y, 48)) return importFrom({ kty, crv, x, y }, refuse);
  if (kty === 'OKP' && crv === 'Ed25519' && isBase64Url(x, 32)) return importFrom({ kty, crv, x }, refuse);
  if (kty === 'RSA' && isBase64Url(n) && isBase64Url(e)) return importFrom({ kty, n, e }, refuse);
  throw refuse(forms);
}

const isBase64Url = (value: unknown, byteLength?: number): value is string => {
  if (typeof value !== 'string' || !/^[A-Za-z0-9_-]+$/.test(value)) return false;
  return byteLength === undefined || Buffer.from(value, 'base64url').length === byteLength;
};

function parseJwk(text: string, refuse: RefuseKey): unknown {
  try {
    return parseJson(text);
  } catch {
    throw refuse(forms);
  }
}

async function importPem(text: string, refuse: RefuseKey): Promise<AgentKey> {
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) throw refuse(isPrivateProblem);
  const [, body] = pem.exec(text) ?? [];
  if (body === undefined) throw refuse(forms);
  return importDer(Buffer.from(body, 'base64'), refuse);
}

async function importDer(bytes: Buffer, refuse: RefuseKey): Promise<AgentKey> {
  if (isPrivateDer(bytes)) throw refuse(isPrivateProblem);
  return importFrom(bytes, refuse);
}

const isPrivateDer = (bytes: Buffer): boolean =>
  (['pkcs8', 'pkcs1', 'sec1'] as const).some((type) => {
    try {
      createPrivateKey({ key: bytes, format: 'der', type });
      return true;
    } catch {
      return false;
    }
  });

function importFrom(source: Buffer | JsonWebKey, refuse: RefuseKey): AgentKey {
  const key = openKey(source, refuse);
  const kind = kindOf(key, refuse);
  return { kind, key, thumbprint: thumbprintOf(key) };
}

function openKey(source: Buffer | JsonWebKey, refuse: RefuseKey): KeyObject {
  try {
    if (!Buffer.isBuffer(source)) return createPublicKey({ key: source, format: 'jwk' });
    return createPublicKey({ key: source, format: 'der', type: 'spki' });
  } catch {
    throw refuse(forms);
  }
}

function kindOf(key: KeyObject, refuse: RefuseKey): KeyKind {
  const { asymmetricKeyType, asymmetricKeyDetails = {} } = key;
  const { modulusLength = 0, publicExponent = 0n, namedCurve } = asymmetricKeyDetails;
  switch (asymmetricKeyType) {
    case 'rsa':
      if (modulusLength < 2048 || modulusLength > 8192) throw refuse('must be an RSA key of 2048 to 8192 bits');
      // larger exponents make verifying as expensive as signing
      if (publicExponent < 3n || publicExponent > 0xffff_ffffn || publicExponent % 2n === 0n) {
        throw refuse('must be an RSA key with an odd public exponent of 3 to 4294967295');
      }
      return 'RSA';
    case 'ec':
      if (namedCurve === 'prime256v1') return 'P-256';
      if (namedCurve === 'secp384r1') return 'P-384';
      throw refuse(forms);
    case 'ed25519':
      if (hasSmallOrder(key)) throw refuse(forms);
      return 'Ed25519';
    default:
      throw refuse(forms);
  }
}

/** The y coordinates of the small-order points of edwards25519 in all encodings, without the sign of x. */
const smallOrder = new Set([
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  `ec${'ff'.repeat(30)}7f`,
  `ed${'ff'.repeat(30)}7f`,
  `ee${'ff'.repeat(30)}7f`,
]);

/** Anybody can forge signatures for such keys. */
function hasSmallOrder(key: KeyObject): boolean {
  const y = Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url');
  y.writeUInt8(y.readUInt8(31) & 0x7f, 31);
  return smallOrder.has(y.toString('hex'));
}
