import assert from 'node:assert/strict';
import { BlockList, isIPv4 } from 'node:net';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { openRateLimiter } from '../../functions/core/limit/rate-limiter.ts';
import { mayConnect } from '../../functions/core/relay/egress.ts';
import { chooseWith } from '../support/random.ts';
import { openTokens } from '../support/tokens.ts';
import { openMemoryTable } from './memory-table.ts';

/** Something that holds for one case after the other, made from random numbers. */
export interface Trial {
  name: string;
  promise: string;
  /** @returns a case that throws if the promise does not hold; `random` gives numbers from 0 to 1 */
  open(): Promise<(random: () => number) => Promise<void>>;
}

const tokens: Trial = {
  name: 'tokens',
  promise: 'I1: the gate accepts a token exactly if a second verifier does, which knows nothing but the published keys and the documents',
  open: async () => {
    const { makeToken, judge } = await openTokens();
    return async (random) => {
      const token = makeToken(random);
      const { gate, second } = await judge(token);
      assert.equal(gate, second, `the verifiers disagree about ${token}`);
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
      const { below, pick } = chooseWith(random);
      const byte = () => below(256);
      const address = [pick([...starts, byte()]), pick([...seconds, byte()]), pick([0, 2, 99, 100, 113, 196, byte()]), byte()].join('.');
      assert.ok(isIPv4(address));
      const privateOrigins = pick([[], ['https://upstream.example:8443'], ['https://other.example:8443']]);
      const rules = { ports: [443], allowLoopback: false, ownHosts: [], privateOrigins };
      const protocol = pick(['https:', 'http:']);
      const port = pick([443, 80, 8443]);
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
        const asked = { owner: `agent-${agent}`, counter: 'execute', charges };
        const call = instances[instance]
          ?.consume(asked)
          .then(({ isWithinLimits }) => void (isWithinLimits && taken.push({ agent, atMs, cost })));
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
