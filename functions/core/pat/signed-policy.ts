import { canonicalDigest, canonicalText } from '../../../schemas/canonical.ts';
import type { UsedJtis } from '../activity/used-jti.ts';
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import type { CurrentPolicy } from '../policy/policy.ts';
import type { AgentKey } from './agent-key.ts';
import { checkFreshness, checkSigner, type FreshnessOptions, type SingleUse } from './freshness.ts';
import { type Jws, readJson, readJws } from './jws.ts';
import { invalidSignature } from './refusals.ts';
import { jwsAlgorithmNames, verifyBareSignature, verifyJwsSignature } from './signatures.ts';

export interface SignedPolicy {
  isCurrent: boolean;
  /** reference to the signed text, if it has the uid of the current policy */
  otherReference?: string;
  /** if the document has a jti */
  singleUse?: SingleUse;
}

/** Header parameters that contain a key, or refer to one. */
const keyHeaders = ['jwk', 'jku', 'x5u', 'x5c', 'x5t', 'x5t#S256'];
const claimNames = ['iat', 'exp', 'aud', 'jti', 'iss', 'sub', 'nbf'] as const;
const maxBareLength = 8_192;

const doesNotHold = () =>
  invalidSignature(
    'The signature does not verify with agent_public_key. Sign the bytes that GET /api/policy sends, unchanged, or send a JWS whose payload is that policy.',
  );

/**
 * Verifies `signed_policy` in any of its forms: a JWS with the policy as payload, a JWS with detached payload (RFC 7515 appendix F, RFC 7797),
 * or a bare signature in hex, base64 or base64url.
 * @throws ApiError INVALID_SIGNATURE
 */
export function verifySignedPolicy(text: string, key: AgentKey, current: CurrentPolicy, freshness: FreshnessOptions): SignedPolicy {
  const trimmed = text.trim();
  if (trimmed.includes('.')) return verifyJws(readJws(trimmed, 'signed policy', invalidSignature), key, current, freshness);
  const signable = signableTexts(current.policy).map((signed) => Buffer.from(signed));
  const holds = decodeBare(trimmed).some((signature) => signable.some((signed) => verifyBareSignature(key, signed, signature)));
  if (!holds) throw doesNotHold();
  checkFreshness({}, freshness);
  return { isCurrent: true };
}

/** @throws ApiError INVALID_SIGNATURE if the signer has used the jti of the signed policy before */
export async function requireFirstUse({ singleUse }: SignedPolicy, { thumbprint }: AgentKey, usedJtis: UsedJtis): Promise<void> {
  if (!singleUse || (await usedJtis.consume(`policy:${thumbprint}`, singleUse.jti, singleUse.expiresAt))) return;
  throw invalidSignature('The jti of the signed policy has been used before. Sign the policy again with a new one.');
}

/** All possible decodings, since hexadecimal digits are also valid base64. Ignores the line breaks that tools insert. */
function decodeBare(lines: string): Buffer[] {
  const text = lines.replace(/\s+/g, '');
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$|^[A-Za-z0-9_-]+={0,2}$/.test(text);
  const isHex = /^([0-9a-fA-F]{2})+$/.test(text);
  if (text.length > maxBareLength || !(isBase64 || isHex)) {
    throw invalidSignature('The signed policy is neither a compact JWS nor a signature in hex, base64 or base64url. Sign it again.');
  }
  return [...(isHex ? [Buffer.from(text, 'hex')] : []), ...(isBase64 ? [Buffer.from(text, 'base64')] : [])];
}

function verifyJws(jws: Jws, key: AgentKey, current: CurrentPolicy, freshness: FreshnessOptions): SignedPolicy {
  const { header, payloadSegment, signature } = jws;
  const alg = checkHeader(header);
  const isDetached = payloadSegment === '';
  const policyTexts = isDetached ? signableTexts(current.policy) : [];
  const signed = isDetached ? policyTexts.map((text) => (header.b64 === false ? text : encode(text))) : [payloadSegment];
  if (!isDetached && header.b64 === false)
    throw invalidSignature('With b64 false the payload must be detached: leave the part between the dots empty.');
  if (!signed.some((payload) => verifyJwsSignature(alg, key, Buffer.from(`${jws.headerSegment}.${payload}`), signature)))
    throw doesNotHold();

  const document = isDetached ? {} : readJson(Buffer.from(payloadSegment, 'base64url'));
  const { claims: payloadClaims, rest } = takeClaims(document);
  const claims = mergeClaims(takeClaims(header).claims, payloadClaims);
  checkSigner(claims, freshness);
  const singleUse = checkFreshness(claims, freshness);
  const digest = isDetached ? current.digest : rest && canonicalDigest(rest);
  const otherReference = digest !== current.digest && rest?.uid === current.policy.uid ? `${rest.uid}#sha-256=${digest}` : undefined;
  return { isCurrent: digest === current.digest, ...(otherReference && { otherReference }), ...(singleUse && { singleUse }) };
}

const encode = (text: string): string => Buffer.from(text).toString('base64url');

function checkHeader(header: Jws['header']): string {
  const { alg, crit, b64 } = header;
  if (typeof alg !== 'string' || !jwsAlgorithmNames.includes(alg)) {
    throw invalidSignature(`The alg of the signed policy must be one of ${jwsAlgorithmNames.join(', ')}.`);
  }
  if (keyHeaders.some((name) => Object.hasOwn(header, name))) {
    throw invalidSignature(
      `The header of the signed policy must not contain a key (${keyHeaders.join(', ')}): the key is agent_public_key.`,
    );
  }
  const isB64Critical = Array.isArray(crit) && crit.length === 1 && crit[0] === 'b64';
  if ((crit !== undefined && !isB64Critical) || (b64 !== undefined && typeof b64 !== 'boolean') || (b64 === false && !isB64Critical)) {
    throw invalidSignature('The crit header of the signed policy may list only b64, and must list it if b64 is false.');
  }
  return alg;
}

/** Separates the claims from the policy, which has no members of these names. */
function takeClaims(document: JsonValue | undefined): { claims: JsonObject; rest?: JsonObject } {
  if (!isObject(document)) return { claims: {} };
  const isClaim = (name: string) => (claimNames as readonly string[]).includes(name);
  const entries = Object.entries(document);
  return {
    claims: Object.fromEntries(entries.filter(([name]) => isClaim(name))),
    rest: Object.fromEntries(entries.filter(([name]) => !isClaim(name))),
  };
}

function mergeClaims(header: JsonObject, payload: JsonObject): JsonObject {
  if (Object.keys(header).some((name) => Object.hasOwn(payload, name) && canonicalText(payload[name]) !== canonicalText(header[name]))) {
    throw invalidSignature(
      `The header and the payload of the signed policy disagree about a claim (${claimNames.join(', ')}). State each claim once.`,
    );
  }
  return { ...header, ...payload };
}

/** Python's spelling of a number from our JSON: fractions below 0.0001 have an exponent of at least two digits. */
function pythonNumber(value: number): string {
  const text = JSON.stringify(value);
  const isFraction = /[.e]/.test(text);
  return isFraction && Math.abs(value) < 1e-4 ? value.toExponential().replace(/e-(\d)$/, 'e-0$1') : text;
}

/** A replacer for `sort_keys=True`: Python sorts names by code point. */
function sortMembers(_name: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([left], [right]) => Buffer.compare(Buffer.from(left), Buffer.from(right))));
}

/** `json.dumps(policy, ensure_ascii=False, indent=indent)` */
const indented = (policy: unknown, indent: number): string =>
  JSON.stringify(policy, (_name, value) => (typeof value === 'number' ? JSON.rawJSON(pythonNumber(value)) : value), indent);

/** `separators=(comma, colon)`: an indented text on one line. */
const onOneLine = (text: string, comma: string, colon: string): string =>
  text
    .replace(/^( *"(?:[^"\\]|\\.)*"): /gm, `$1${colon}`)
    .replace(/,\n */g, comma)
    .replace(/\n */g, '');

function pythonTexts(policy: unknown): string[] {
  const lines = indented(policy, 2);
  const joined = [', ', ','].flatMap((comma) => [': ', ':'].map((colon) => onOneLine(lines, comma, colon)));
  return [...joined, lines, indented(policy, 4)];
}

const escapeNonAscii = (text: string): string =>
  text.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * The texts of a policy that agents may sign: as it was sent, in canonical form, and as Python's `json.dumps` writes it (with and without `ensure_ascii`
 * and `sort_keys`, with any `separators`, and with an `indent` of 2 or 4). All have the same content, so a signature over any of them is consent.
 */
export function signableTexts(policy: unknown): string[] {
  const sorted = JSON.parse(JSON.stringify(policy, sortMembers));
  const pythons = [policy, sorted].flatMap(pythonTexts);
  return [...new Set([JSON.stringify(policy), canonicalText(policy), ...pythons, ...pythons.map(escapeNonAscii)])];
}
