import { createPrivateKey, createPublicKey, type JsonWebKeyInput, type KeyObject, type PublicKeyInput } from 'node:crypto';
import { canonicalDigest } from '../../../schemas/canonical.ts';
import { isObject } from '../json/json.ts';
import { readJson } from './jws.ts';
import type { Refuse } from './refusals.ts';

export type KeyKind = 'RSA' | 'P-256' | 'P-384' | 'Ed25519';

/** An agent's public key, in any encoding. */
export interface AgentKey {
  kind: KeyKind;
  key: KeyObject;
  /** RFC 7638; independent of the encoding */
  thumbprint: string;
}

const forms =
  'must be a public key: PEM (SPKI), base64 of PEM or of DER SPKI, or a JWK; RSA of at least 2048 bits, P-256, P-384 or Ed25519';
const isPrivateProblem = 'must be the public key, but a private key was sent: treat it as leaked, and create a new pair';

const base64 = /^[A-Za-z0-9+/]+={0,2}$|^[A-Za-z0-9_-]+={0,2}$/;

const isText = (text: string): boolean => text.startsWith('{') || text.includes('-----BEGIN ');

/**
 * Reads `agent_public_key`, ignoring surrounding white space and the style of line ends.
 * @throws the error of `refuse` if the key is unreadable, private, too weak or of another kind
 */
export function readAgentKey(text: string, refuse: Refuse): AgentKey {
  const trimmed = text.trim();
  if (isText(trimmed)) return importText(trimmed, refuse);
  const compact = trimmed.replace(/\s/g, '');
  if (!base64.test(compact)) throw refuse(forms);
  const bytes = Buffer.from(compact, 'base64');
  const decoded = bytes.toString('utf8').trim();
  return isText(decoded) ? importText(decoded, refuse) : importDer(bytes, refuse);
}

/** A JWK, or the first public key in PEM, whose explanatory text is ignored (RFC 7468 section 2). */
function importText(text: string, refuse: Refuse): AgentKey {
  if (text.startsWith('{')) return importJwk(readJson(Buffer.from(text)), refuse);
  if (/-----BEGIN [^-\r\n]*PRIVATE KEY/.test(text)) throw refuse(isPrivateProblem);
  const [, rest = ''] = text.split('-----BEGIN PUBLIC KEY-----', 2);
  const [body = '', end] = rest.split('-----END PUBLIC KEY-----', 2);
  if (end === undefined || !/^[A-Za-z0-9+/=\s]+$/.test(body)) throw refuse(forms);
  return importDer(Buffer.from(body, 'base64'), refuse);
}

/** Lengths of coordinates, in bytes. */
const coordinateBytes: Record<string, number> = { 'P-256': 32, 'P-384': 48 };

/**
 * Reads a public JWK (RFC 7517) with coordinates of full length that is not marked for another use.
 * @throws the error of `refuse`
 */
export function importJwk(jwk: unknown, refuse: Refuse): AgentKey {
  if (!isObject(jwk)) throw refuse(forms);
  const { kty, crv, x, y, n, e, use, key_ops } = jwk;
  if (['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'].some((member) => Object.hasOwn(jwk, member))) throw refuse(isPrivateProblem);
  if (use !== undefined && use !== 'sig') throw refuse('must be a key for signatures: its use must be sig or left out');
  if (key_ops !== undefined && !(Array.isArray(key_ops) && key_ops.includes('verify'))) {
    throw refuse('must be a key for signatures: its key_ops must contain verify or be left out');
  }
  if (kty === 'EC' && (crv === 'P-256' || crv === 'P-384') && isBase64Url(x, coordinateBytes[crv]) && isBase64Url(y, coordinateBytes[crv]))
    return importFrom({ key: { kty, crv, x, y }, format: 'jwk' }, refuse);
  if (kty === 'OKP' && crv === 'Ed25519' && isBase64Url(x, 32)) return importFrom({ key: { kty, crv, x }, format: 'jwk' }, refuse);
  if (kty === 'RSA' && isBase64Url(n) && isBase64Url(e)) return importFrom({ key: { kty, n, e }, format: 'jwk' }, refuse);
  throw refuse(forms);
}

const isBase64Url = (value: unknown, byteLength?: number): value is string => {
  if (typeof value !== 'string' || !/^[A-Za-z0-9_-]+$/.test(value)) return false;
  return byteLength === undefined || Buffer.from(value, 'base64url').length === byteLength;
};

function importDer(bytes: Buffer, refuse: Refuse): AgentKey {
  if (isPrivateDer(bytes)) throw refuse(isPrivateProblem);
  return importFrom({ key: bytes, format: 'der', type: 'spki' }, refuse);
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

function importFrom(source: JsonWebKeyInput | PublicKeyInput, refuse: Refuse): AgentKey {
  let key: KeyObject;
  try {
    key = createPublicKey(source);
  } catch {
    throw refuse(forms);
  }
  return { kind: kindOf(key, refuse), key, thumbprint: thumbprintOf(key) };
}

function kindOf(key: KeyObject, refuse: Refuse): KeyKind {
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
      break;
    case 'ed25519':
      if (!hasSmallOrder(key)) return 'Ed25519';
  }
  throw refuse(forms);
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

/** The SHA-256 thumbprint of a public key: of the required members of its JWK (RFC 7638 section 3). */
export function thumbprintOf(key: KeyObject): string {
  const { kty, crv, x, y, n, e } = key.export({ format: 'jwk' });
  return canonicalDigest({ kty, crv, x, y, n, e });
}
