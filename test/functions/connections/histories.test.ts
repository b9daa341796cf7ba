import { expect, test } from '@jest/globals';
import { openConnections } from '../../../functions/connections/connections.ts';
import { type GrantItem, openGrants } from '../../../functions/connections/grants.ts';
import { IssuerFailure } from '../../../functions/connections/issuer-failure.ts';
import { connectionKeys, personGrantKeys } from '../../../functions/connections/records.ts';
import { openSealer, type Tokens } from '../../../functions/connections/seal.ts';
import { openTokens } from '../../../functions/connections/tokens.ts';
import { personOf } from '../../../functions/core/pat/holder.ts';
import { ApiError } from '../../../functions/core/runtime/api-error.ts';
import type { StoredCredential } from '../../../schemas/credential.ts';
import { baseUrl } from '../../support/gate.ts';
import { seededRandom } from '../../support/random.ts';
import { openMemoryTable } from '../../world/memory-table.ts';

// Random histories of people, services, instances, hours, failures of the issuer, and a table whose items somebody moves.

const people = ['one', 'two', 'three'];
const services = ['01JWQ3K8Z5N7T9V2X4Y6B8D0FA', '01JWQ3K8Z5N7T9V2X4Y6B8D0FB'];
const origin = 'https://world.example';
const client = { client_id: 'gate', grant: 'person' as const, token_endpoint: 'https://id.example/token', authorization_endpoint: origin };
const stored: StoredCredential = {
  headers: ['Authorization'],
  query: [],
  origins: [origin],
  oauth: client,
  version: 'version-1',
  set_at: 0,
};

async function play(seed: number): Promise<{ carried: number; refused: number }> {
  const random = seededRandom(seed);
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const table = openMemoryTable();
  const sealer = openSealer({ generateMac: async () => Buffer.alloc(32, 7) }, 'key');
  let nowMs = Date.now();
  const now = () => nowMs;
  /** the only refresh token of each consent that the issuer accepts, and for whom */
  const current = new Map<string, string>();
  let count = 0;
  const issue = (owner: string) => {
    const refresh = `refresh-${++count}`;
    current.set(refresh, owner);
    return { access: `${owner} ${count}`, refresh, lifeSeconds: 3_600, scopes: undefined };
  };
  const issuers = {
    obtain: () => Promise.reject(new Error('is not asked for')),
    refresh: async (_: unknown, refreshToken: string) => {
      const owner = current.get(refreshToken);
      if (owner === undefined) throw new IssuerFailure('refused', { error: 'invalid_grant' });
      const chance = random();
      if (chance < 0.1) throw new IssuerFailure('unsent', {});
      current.delete(refreshToken);
      const tokens = issue(owner);
      if (chance < 0.2) throw new IssuerFailure('unknown', {});
      return tokens;
    },
    revoke: async (_: unknown, { refresh }: Tokens) => void current.delete(String(refresh)),
  };
  const credentials = { read: async () => ({ headers: {}, query: {}, origins: [origin], oauth: client }) };
  const instances = [0, 1, 2].map(() => openTokens({ table, credentials, issuers, grants: openGrants(table, sealer, now), now }));
  const connections = openConnections(table);
  const grantOf = (person: string, service: string) => table.get<GrantItem>(connectionKeys.ofPerson(personOf(person), service));
  const result = { carried: 0, refused: 0 };

  const steps: Record<string, (person: string, service: string) => Promise<unknown>> = {
    async connect(person, service) {
      const grants = openGrants(table, sealer, now);
      const { scopes: _, ...sealed } = await grants.sealedMembers(
        connectionKeys.ofPerson(personOf(person), service),
        issue(`${person} ${service}`),
      );
      await connections.keep(
        { subject: person, userName: person },
        service,
        client,
        { ...sealed, expires_at: grants.expiresAt() },
        { scopes: undefined },
      );
    },
    end: (person, service) => connections.end(person, service),
    hours: async () => {
      nowMs += Math.floor(random() * 3) * 3_600_000;
    },
    async move(person, service) {
      const item = await grantOf(person, service);
      if (item) await table.put({ ...item, ...connectionKeys.ofPerson(personOf(pick(people)), pick(services)) });
    },
    async call(person, service) {
      const principal = personOf(person);
      const [key] = personGrantKeys(service, principal);
      const grant = key && (await table.get(key));
      const record = {
        kind: 'service' as const,
        service_id: service,
        service_name: 'A',
        service_url: origin,
        description: 'A',
        rev: 1,
        intents: 0,
        drafts: 0,
      };
      try {
        const request = { service: record, stored, principal, grant, baseUrl, url: `${origin}/countries` };
        const token = await pick(instances)(request);
        nowMs += 11_000;
        for (const carried of [token, random() < 0.3 ? await token.renew?.() : undefined]) {
          if (!carried) continue;
          expect(carried.headers.Authorization).toMatch(new RegExp(`^Bearer ${person} ${service} `));
          result.carried++;
        }
      } catch (error) {
        if (!(error instanceof ApiError) && !(error instanceof IssuerFailure)) throw error;
        result.refused++;
      }
    },
  };
  const names = ['connect', 'end', 'hours', 'move', ...Array.from({ length: 6 }, () => 'call')];
  for (let step = 0; step < 60; step++) {
    const [person, service] = [pick(people), pick(services)];
    // two callers at the same time, often the same person
    await Promise.all([steps[pick(names)]?.(person, service), steps[pick(names)]?.(random() < 0.5 ? person : pick(people), service)]);
  }
  return result;
}

test('no call ever carries the token of another person or service, in 300 random histories', async () => {
  const totals = { carried: 0, refused: 0 };
  for (let seed = 1; seed <= 300; seed++) {
    const { carried, refused } = await play(seed);
    totals.carried += carried;
    totals.refused += refused;
  }
  expect(totals.carried).toBeGreaterThan(2_000);
  expect(totals.refused).toBeGreaterThan(2_000);
});
