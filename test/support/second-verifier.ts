import { createHash, createPublicKey, verify } from 'node:crypto';

export interface Expectations {
  jwks: { keys: Record<string, unknown>[] };
  address: string;
  /** seconds since the epoch */
  now: number;
}

const halfOrder = 0x7fffffff800000007fffffffffffffffde737d56d38bcf4279dce5617e3192a8n;

/**
 * Verifies a PAT from public information only: the key set, and the documented form of a PAT. A check on the gate's own verifier,
 * using only node:crypto.
 * @returns the claims, or why there are none
 */
export function judgePat(token: string, { jwks, address, now }: Expectations): { claims: Record<string, unknown> } | { reason: string } {
  if (token.length > 6 * 1024) return { reason: 'too large' };
  const parts = token.split('.');
  if (parts.length !== 3) return { reason: 'not three parts' };
  const decoded = parts.map((part) => Buffer.from(part, 'base64url'));
  if (decoded.some((bytes, at) => bytes.length === 0 || bytes.toString('base64url') !== parts[at])) return { reason: 'another spelling' };
  const [header, payload, signature] = decoded as [Buffer, Buffer, Buffer];

  const jwk = jwks.keys.find(({ kid }) => header.equals(Buffer.from(`{"alg":"ES256","typ":"pat+jwt","kid":"${kid}"}`)));
  if (!jwk) return { reason: 'not our header, or not our key' };
  const [x, y] = [jwk.x, jwk.y];
  const thumbprint = createHash('sha256').update(`{"crv":"P-256","kty":"EC","x":"${x}","y":"${y}"}`).digest('base64url');
  if (thumbprint !== jwk.kid) return { reason: 'the key set is not right' };

  if (signature.length !== 64 || BigInt(`0x${signature.subarray(32).toString('hex')}`) > halfOrder) return { reason: 'another signature' };
  const key = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x: String(x), y: String(y) }, format: 'jwk' });
  if (!verify('sha256', Buffer.from(`${parts[0]}.${parts[1]}`), { key, dsaEncoding: 'ieee-p1363' }, signature))
    return { reason: 'not our signature' };

  let claims: Record<string, unknown>;
  try {
    const json = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(payload);
    claims = JSON.parse(json);
    if (!hasOneReading(json)) return { reason: 'another reader may see something else' };
  } catch {
    return { reason: 'no JSON' };
  }
  if (typeof claims !== 'object' || claims === null || Array.isArray(claims)) return { reason: 'no claims' };
  const reason = findFault(claims, address, now);
  return reason === undefined ? { claims } : { reason };
}

/** Whether JSON has no member twice, and no half of a character. No two members of a PAT have one name, wherever they stand. */
function hasOneReading(json: string): boolean {
  const texts = [...json.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?/g)].map(([, text = '', colon]) => ({
    text: JSON.parse(text) as string,
    colon,
  }));
  const names = texts.filter(({ colon }) => colon !== undefined).map(({ text }) => text);
  return new Set(names).size === names.length && texts.every(({ text }) => text.isWellFormed());
}

const known = new Set('iss sub aud iat nbf exp jti scope pol cnf dpop gen lmt bil person client_id'.split(' '));

function findFault(claims: Record<string, unknown>, address: string, now: number): string | undefined {
  const { iss, sub, aud, iat, nbf, exp, jti, scope, pol, cnf, dpop, gen, lmt, bil, person, client_id } = claims;
  const isDate = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
  const isText = (value: unknown): value is string => typeof value === 'string';
  const hasExactly = (value: unknown, tests: Record<string, (member: unknown) => boolean>) =>
    typeof value === 'object' &&
    value !== null &&
    Object.keys(value).sort().join() === Object.keys(tests).sort().join() &&
    Object.entries(tests).every(([name, test]) => test((value as Record<string, unknown>)[name]));
  const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 1;

  if (Object.keys(claims).some((name) => !known.has(name))) return 'a claim of no PAT';
  if (iss !== address || aud !== address) return 'another address';
  if (!isDate(iat) || !isDate(nbf) || !isDate(exp)) return 'a date that is none';
  if (nbf > now) return 'not yet';
  if (exp <= now) return 'no longer';
  if (![sub, jti, pol, gen].every(isText)) return 'a text that is none';
  if (!Array.isArray(scope) || !scope.every(isText)) return 'a scope that is none';
  const isOfPerson = person !== undefined && /^person\.[A-Za-z0-9_-]{43}$/.test(String(person)) && isText(person) && isText(client_id);
  const isOfKey = hasExactly(cnf, { jkt: isText }) && person === undefined && client_id === undefined;
  if (!isOfKey && !(isOfPerson && cnf === undefined && dpop === undefined)) return 'neither the PAT of a key nor of a person';
  if (dpop !== undefined && dpop !== true) return 'dpop that is not true';
  if (lmt !== undefined && !hasExactly(lmt, { rate: isCount, period: isCount })) return 'a limit that is none';
  const billingMethods = ['credit_card', 'invoice', 'wallet', 'processor', 'other'];
  const isBilling = hasExactly(bil, { method: (method) => billingMethods.includes(String(method)), id: (id) => isText(id) && id !== '' });
  if (bil !== undefined && !isBilling) return 'billing that is none';
  return undefined;
}
