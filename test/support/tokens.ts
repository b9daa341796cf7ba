import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { openPatVerifier } from '../../functions/core/pat/verify.ts';
import { chooseWith } from './random.ts';
import { judgePat } from './second-verifier.ts';

/** A P-256 key pair with its JWK and thumbprint. */
export async function makeKey() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = publicKey.export({ format: 'jwk' }) as JWK;
  return { privateKey, publicKey, jwk, kid: await calculateJwkThumbprint(jwk) };
}

export const [address, now] = ['https://gate.example', 1_800_000_000];

const base = {
  iss: address,
  sub: 'agent',
  aud: address,
  iat: now,
  nbf: now,
  exp: now + 60,
  jti: 'j',
  scope: ['*:*:*:execute'],
  pol: `${address}/api/policy#sha-256=x`,
  gen: 'g',
};
/** The claims of a PAT for an agent with a key. */
export const byKey = { ...base, cnf: { jkt: 'thumbprint' } };
const byPerson = { ...base, person: `person.${'A'.repeat(43)}`, client_id: 'https://client.example/' };

const strange: unknown[] = [
  ...[undefined, null, '', 'x', 0, -1, 1.5, 2 ** 53, 2 ** 53 - 1, true, false],
  ...[[], ['a'], ['a', 1], {}, { jkt: 1 }, { jkt: 'x', more: 1 }, [address]],
  ...['*:*:*:execute', 'none', 'HS256', 'ES256', 'JWT', 'PAT+JWT'],
  ...[`${address}/`, address.toUpperCase(), `person.${'A'.repeat(42)}`, String(now)],
  ...[
    { rate: 1, period: 1 },
    { rate: 0, period: 1 },
    { rate: 1.0, period: '1' },
  ],
  ...[
    { method: 'invoice', id: 'x' },
    { method: 'cash', id: 'x' },
  ],
];
const names = [...Object.keys(byKey), 'dpop', 'lmt', 'bil', 'person', 'client_id', 'extra', '__proto__', 'toString'];

const encode = (bytes: string | Buffer): string => Buffer.from(bytes).toString('base64url');
/** Order of the group of P-256. */
export const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const toBytes = (number: bigint): Buffer => Buffer.from(number.toString(16).padStart(64, '0').slice(-64), 'hex');
const toNumber = (bytes: Buffer): bigint => BigInt(`0x${bytes.toString('hex')}`);

function signatureOf(input: string, key: KeyObject): { r: bigint; s: bigint } {
  const raw = sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' });
  const s = toNumber(raw.subarray(32));
  return { r: toNumber(raw.subarray(0, 32)), s: s > order / 2n ? order - s : s };
}

/** Two published keys, random tokens whose header, claims, spelling or signature may be changed, and the verdicts of two verifiers. */
export async function openTokens() {
  const published = [await makeKey(), await makeKey()];
  const foreign = await makeKey();
  const jwks = { keys: published.map(({ jwk, kid }) => ({ ...jwk, kid, alg: 'ES256', use: 'sig' })) };
  const verify = openPatVerifier({ findKey: async (kid) => published.find((key) => key.kid === kid)?.publicKey });

  function makeToken(random: () => number): string {
    const { below, pick } = chooseWith(random);
    /** The same JSON in another spelling, or in one that readers disagree about. */
    const respell = (json: string): string =>
      pick([
        () => ` ${json}\n`,
        () => json.replaceAll(':', ' : '),
        () => json.replace(String(now), `${now}.0`),
        () => json.replace(String(now + 60), '1.80000006e9'),
        () => json.replace(String(now + 60), '1e400'),
        () => json.replace(String(now + 60), '9007199254740993'),
        () => json.replace(`"iat":${now}`, '"iat":-0'),
        () => json.replace('{', `{"exp":${now + 999_999},`),
        () => json.replace('{', '{"\\u0065xp":1,'),
        () => json.replace('"agent"', '"\\u0061gent"'),
        () => json.replace('"agent"', '"\\ud800"'),
        () => json.replace('"agent"', '"\u00e9"'),
        () => json.replace('"agent"', '"a\\u0000"'),
        () => json.replace('{', '{"__proto__":{},'),
        () => json.replace(String(now), 'NaN'),
        () => `\ufeff${json}`,
        () => `${json}x`,
        () => `[${json}]`,
      ])();

    const key = pick(published);
    const claims: Record<string, unknown> = { ...pick([byKey, byKey, byPerson]) };
    const header: Record<string, unknown> = { alg: 'ES256', typ: 'pat+jwt', kid: key.kid };
    const change = pick('none none claim claim claims date header order absent json key signature text text'.split(' '));
    if (change === 'claim' || change === 'claims') {
      for (let left = change === 'claim' ? 1 : 3; left > 0; left--) {
        Object.defineProperty(claims, pick(names), { value: pick(strange), enumerable: true, configurable: true, writable: true });
      }
    }
    if (change === 'date') claims[pick(['exp', 'nbf', 'iat'])] = now + pick([-2, -1, 0, 1, 2]);
    if (change === 'header')
      header[pick(['alg', 'typ', 'kid', 'jwk', 'crit', 'jku', 'b64'])] = pick([...strange, foreign.jwk, foreign.kid]);
    if (change === 'absent') {
      const from = random() < 0.3 ? header : claims;
      delete from[pick(Object.keys(from))];
    }
    const headerJson = change === 'order' ? JSON.stringify({ typ: header.typ, ...header }) : JSON.stringify(header);
    const json = JSON.stringify(claims);
    const input = `${encode(headerJson)}.${encode(change === 'json' ? respell(json) : json)}`;
    const { r, s } = signatureOf(input, change === 'key' ? foreign.privateKey : key.privateKey);
    const pair = (one: bigint, other: bigint) => Buffer.concat([toBytes(one), toBytes(other)]);
    const good = pair(r, s);
    if (change !== 'signature') {
      const token = `${input}.${encode(good)}`;
      if (change !== 'text') return token;
      const at = below(token.length);
      return pick([
        `${token.slice(0, at)}${pick(['', '.', '=', 'A', '_', ' ', '%', '\n', '+', token[at]])}${token.slice(at + 1)}`,
        `${token}${pick(['=', '==', '.', ' ', '\n', 'A'])}`,
        ` ${token}`,
        token.replaceAll('-', '+').replaceAll('_', '/'),
        // the last character of each part has spare bits
        token.replace(/.(?=\.|$)/g, (last) => (random() < 0.5 ? String.fromCharCode(last.charCodeAt(0) + 1) : last)),
      ]);
    }
    const other = pick([
      pair(r, order - s),
      pair(s, r),
      pair(0n, s),
      pair(r, 0n),
      pair(order, s),
      pair(r, order),
      pair(1n, 1n),
      Buffer.alloc(64),
      good.subarray(1),
      Buffer.concat([Buffer.from([0]), good]),
      sign('sha256', Buffer.from(input), key.privateKey),
      Buffer.from(good.map((byte, at) => (at === 5 ? byte ^ 1 : byte))),
    ]);
    return `${input}.${encode(other)}`;
  }

  return {
    jwks,
    address,
    now,
    makeToken,
    /** whether the gate's verifier accepts a token, and whether one that shares no code with it does */
    judge: async (token: string) => ({
      gate: await verify(token, { baseUrl: address, nowMs: now * 1_000 }).then(
        () => true,
        () => false,
      ),
      second: 'claims' in judgePat(token, { jwks, address, now }),
    }),
  };
}
