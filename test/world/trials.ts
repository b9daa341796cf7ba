import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { BlockList, isIPv4 } from 'node:net';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { openRateLimiter } from '../../functions/core/limit/rate-limiter.ts';
import { signatureFromDer } from '../../functions/core/pat/ecdsa.ts';
import { openPatVerifier } from '../../functions/core/pat/verify.ts';
import { mayConnect } from '../../functions/core/relay/egress.ts';
import type { PatClaims } from '../../schemas/pat.ts';
import { judgePat } from '../support/second-verifier.ts';
import { openMemoryTable } from './memory-table.ts';

/** Something that holds for one case after the other, made from random numbers. */
export interface Trial {
  name: string;
  promise: string;
  /** @returns a case that throws if the promise does not hold; `random` gives numbers from 0 to 1 */
  open(): Promise<(random: () => number) => Promise<void>>;
}

const pick = <T>(random: () => number, from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;

async function makeKey() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = publicKey.export({ format: 'jwk' }) as JWK;
  return { privateKey, publicKey, jwk, kid: await calculateJwkThumbprint(jwk) };
}

/** A value that a claim or a member of the header must not have, or may. */
const strange = (random: () => number): unknown =>
  pick(random, [
    undefined,
    null,
    '',
    'x',
    0,
    -1,
    1.5,
    2 ** 53,
    true,
    [],
    ['a', 'b'],
    {},
    { jkt: 1 },
    '*:*:*:execute',
    'none',
    'HS256',
    'JWT',
  ]);

const tokens: Trial = {
  name: 'tokens',
  promise: 'I1: the gate accepts a token exactly if a second verifier does, which knows nothing but the published keys and the documents',
  open: async () => {
    const [ours, theirs] = [await makeKey(), await makeKey()];
    const address = 'https://gate.example';
    const now = 1_800_000_000;
    const jwks = { keys: [{ ...ours.jwk, kid: ours.kid, alg: 'ES256', use: 'sig' }] };
    const verify = openPatVerifier({ findKey: async (kid) => (kid === ours.kid ? ours.publicKey : undefined) });
    const claims: PatClaims = {
      iss: address,
      sub: 'agent',
      aud: address,
      iat: now,
      nbf: now,
      exp: now + 60,
      jti: 'j',
      scope: ['*:*:*:execute'],
      pol: `${address}/api/policy#sha-256=x`,
      cnf: { jkt: 'thumbprint' },
      gen: 'g',
    };
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const seal = (input: string, key: KeyObject) =>
      `${input}.${Buffer.from(signatureFromDer(sign('sha256', Buffer.from(input), key))).toString('base64url')}`;
    const dates = [now - 1, now, now + 1];

    return async (random) => {
      const header: Record<string, unknown> = { alg: 'ES256', typ: 'pat+jwt', kid: ours.kid };
      const body: Record<string, unknown> = { ...claims };
      let token = '';
      switch (pick(random, ['claim', 'date', 'header', 'member', 'key', 'text', 'none'])) {
        case 'claim':
          body[pick(random, [...Object.keys(claims), 'dpop', 'lmt', 'bil', 'extra'])] = strange(random);
          break;
        case 'date':
          body[pick(random, ['exp', 'nbf', 'iat'])] = pick(random, dates);
          break;
        case 'header':
          header[pick(random, ['alg', 'typ', 'kid', 'jwk', 'crit'])] = strange(random);
          break;
        case 'member':
          delete (random() < 0.5 ? header : body)[pick(random, [...Object.keys(header), ...Object.keys(body)])];
          break;
        case 'key':
          token = seal(`${encode(header)}.${encode(body)}`, theirs.privateKey);
          break;
        case 'text': {
          const good = seal(`${encode(header)}.${encode(body)}`, ours.privateKey);
          const at = Math.floor(random() * good.length);
          token = good.slice(0, at) + pick(random, ['', '.', '=', 'A', '_', ' ', '%', good[at]]) + good.slice(at + 1);
          break;
        }
      }
      token ||= seal(`${encode(header)}.${encode(body)}`, ours.privateKey);
      const theirVerdict = 'claims' in judgePat(token, { jwks, address, now });
      const ourVerdict = await verify(token, { baseUrl: address, nowMs: now * 1000 }).then(
        () => true,
        () => false,
      );
      assert.equal(ourVerdict, theirVerdict, `the verifiers disagree about ${token}`);
    };
  },
};

/** The ranges of the IANA special-purpose registries and of multicast, in a form of their own, for Node's matcher. */
function listSpecial(): BlockList {
  const list = new BlockList();
  const ipv4 = '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24';
  const more = '192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3';
  for (const range of `${ipv4} ${more}`.split(' ')) {
    const [network = '', bits] = range.split('/');
    list.addSubnet(network, Number(bits), 'ipv4');
  }
  return list;
}

const addresses: Trial = {
  name: 'addresses',
  promise:
    'M3: no connection to an address that is not public (or private, at an origin of privateOrigins), to a port that is not allowed, or without TLS',
  open: async () => {
    const special = listSpecial();
    const privateRanges = ['private', 'carrierGradeNat'];
    const starts = [10, 100, 127, 169, 172, 192, 198, 203, 224, 255, 0, 8];
    const seconds = [0, 31, 64, 88, 100, 127, 128, 168, 175, 254, 16, 52, 51, 18];
    return async (random) => {
      const byte = () => Math.floor(random() * 256);
      const address = [
        pick(random, [...starts, byte()]),
        pick(random, [...seconds, byte()]),
        pick(random, [0, 2, 99, 100, 113, 196, byte()]),
        byte(),
      ].join('.');
      assert.ok(isIPv4(address));
      const privateOrigins = pick(random, [[], ['https://upstream.example:8443'], ['https://other.example:8443']]);
      const rules = { ports: [443], allowLoopback: false, ownHosts: [], privateOrigins };
      const protocol = pick(random, ['https:', 'http:']);
      const port = pick(random, [443, 80, 8443]);
      const isPublic = !special.check(address, 'ipv4');
      const isPrivate = privateRanges.includes(ipaddr.parse(address).range()) && address !== '100.100.100.200';
      const isNamed = privateOrigins[0] === 'https://upstream.example:8443' && protocol === 'https:' && port === 8443;
      const isFree = (isPublic && protocol === 'https:' && port === 443) || (isNamed && (isPublic || isPrivate));
      for (const spelling of [address, `::ffff:${address}`]) {
        assert.equal(
          mayConnect(rules, { protocol, hostname: 'upstream.example', port }, spelling),
          isFree,
          `${protocol} to ${spelling}, port ${port}`,
        );
      }
    };
  },
};

/** Limits of a policy: several windows, and a budget in hundredths. */
const limit = fc.record({ rate: fc.integer({ min: 1, max: 6 }), period: fc.constantFrom(1, 60, 3_600, 86_400) });
const request = fc.record({
  agent: fc.integer({ min: 0, max: 4 }),
  instance: fc.integer({ min: 0, max: 1 }),
  /** how long after the one before it; most come together */
  afterMs: fc.oneof(fc.constant(0), fc.constant(0), fc.integer({ min: 1, max: 2_000 }), fc.integer({ min: 1, max: 100_000_000 })),
  cost: fc.integer({ min: 1, max: 3 }),
});
const world = fc.record({
  limits: fc.uniqueArray(limit, { minLength: 1, maxLength: 3, selector: ({ period }) => period }),
  requests: fc.array(request, { minLength: 1, maxLength: 60 }),
});

const days: Trial = {
  name: 'days',
  promise: 'I4: no window of any limit takes more than its rate, over agents, instances, costs and days',
  open: async () => async (random) => {
    const property = fc.asyncProperty(world, async ({ limits, requests }) => {
      const table = openMemoryTable();
      let nowMs = Date.UTC(2030, 0, 1);
      const instances = [0, 1].map(() => openRateLimiter(table, () => nowMs));
      const taken: { agent: number; atMs: number; cost: number }[] = [];
      let running: Promise<void>[] = [];
      for (const { agent, instance, afterMs, cost } of requests) {
        if (afterMs > 0) await Promise.all(running.splice(0));
        nowMs += afterMs;
        const atMs = nowMs;
        // the first limit counts calls, the others what they cost
        const charges = limits.map((one, at) => ({ id: String(one.period), name: 'limit', ...one, cost: at === 0 ? 1 : cost }));
        const asked = { holder: `agent-${agent}`, counter: 'execute', charges };
        const call = instances[instance]?.consume(asked).then(({ isAdmitted }) => void (isAdmitted && taken.push({ agent, atMs, cost })));
        running = [...running, call ?? Promise.resolve()];
      }
      await Promise.all(running);
      for (const [at, { rate, period }] of limits.entries())
        for (const first of taken) {
          const inWindow = taken.filter(
            ({ agent, atMs }) => agent === first.agent && atMs >= first.atMs && atMs < first.atMs + period * 1_000,
          );
          const sum = inWindow.reduce((total, { cost }) => total + (at === 0 ? 1 : cost), 0);
          assert.ok(sum <= rate, `${sum} in a window of ${period} s, ${rate} are allowed`);
        }
    });
    await fc.assert(property, { seed: Math.floor(random() * 2 ** 31), numRuns: 1 });
  },
};

export const trials: Trial[] = [tokens, addresses, days];
