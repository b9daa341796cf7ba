import assert from 'node:assert/strict';
import { openUsedJtis } from '../../../functions/core/activity/used-jti.ts';
import { openRefreshTokens } from '../../../functions/sign-in/refresh-tokens.ts';
import { openSignIns } from '../../../functions/sign-in/sign-ins.ts';
import type { Caller, Scenario } from '../explore.ts';
import { alike, requireCodes, valuesOf } from '../outcomes.ts';

const person = { subject: 'person', userName: 'user' };

/** The first reading takes longer than it may, so that its turn is over while it goes on. */
const oneAtATime: Scenario = {
  name: 'descriptions of clients are read beside one that took too long',
  promise: 'sign-in: of the descriptions that a person wants to be read, one is read at a time',
  budget: { faults: 1, crashes: 1 },
  prepare: async () => {
    let reading = 0;
    const startMs = Date.now();
    return {
      callers: [0, 6_000, 6_000].map((laterMs) => async ({ table, act }: Caller) => {
        const read = async () => {
          if (laterMs > 0) reading++;
          const isAlone = reading <= 1;
          await act('read the description', () => assert.ok(isAlone, 'two descriptions are read at once'));
          if (laterMs > 0) reading--;
        };
        await openSignIns(table).oneAtATime(person, startMs + laterMs, read);
      }),
      check: (end) => requireCodes(end, 'SERVICE_UNAVAILABLE'),
    };
  },
};

const grant = {
  subject: 'person',
  clientId: 'client',
  resource: 'https://api.example/mcp',
  policy: 'policy',
  generation: 'first',
  startedMs: 0,
};

const exchanged: Scenario = {
  name: 'one code is used twice',
  promise: 'sign-in: of any number of requests with a code at most one gets tokens, and if there were others, nobody can renew with them',
  budget: { faults: 1, crashes: 1 },
  prepare: async () => {
    const nowMs = Date.now();
    const family = 'f'.repeat(43);
    return {
      callers: alike(2, async ({ table }) => {
        const tokens = openRefreshTokens(table);
        if (await openUsedJtis(table).consume('code', 'id', nowMs / 1_000 + 60)) return tokens.start(family, grant, nowMs, 3_600);
        return tokens.endForGood(family, nowMs);
      }),
      check: async ({ outcomes, table, isFaultless }) => {
        requireCodes({ outcomes }, 'SERVICE_UNAVAILABLE');
        const issued = valuesOf(outcomes).filter((value) => value !== undefined);
        assert.ok(issued.length <= 1, 'a code was exchanged twice');
        if (!isFaultless) return;
        const found = await openRefreshTokens(table).findOrEnd(String(issued[0]), nowMs);
        assert.equal(found, undefined, 'a token of a code that was used twice is of use');
      },
    };
  },
};

/** Nobody is in the way of either, so whoever is refused has met what they wrote themselves. */
const alone: Scenario = {
  name: 'a code, a refresh token and a description of a client, each used once',
  promise: 'sign-in: a beginning, a rotation or a turn whose write is delivered twice is not taken for a second use',
  budget: { faults: 1 },
  prepare: async (before) => {
    const token = String(await openRefreshTokens(before).start('f'.repeat(43), grant, Date.now(), 3_600));
    return {
      callers: [
        async ({ table }: Caller) => {
          const tokens = openRefreshTokens(table);
          const found = await tokens.findOrEnd(token, Date.now());
          return found && (await tokens.rotate(found, Date.now()));
        },
        async ({ table }: Caller) => openRefreshTokens(table).start('e'.repeat(43), grant, Date.now(), 3_600),
        async ({ table }: Caller) => openSignIns(table).oneAtATime(person, Date.now(), async () => 'read'),
      ],
      check: ({ outcomes, isUndisturbed }) => {
        requireCodes({ outcomes }, 'SERVICE_UNAVAILABLE');
        const done = valuesOf(outcomes).filter((value) => value !== undefined);
        if (isUndisturbed) assert.equal(done.length, 3, 'a write that was delivered twice was taken for another');
      },
    };
  },
};

const renewed: Scenario = {
  name: 'one refresh token is used three times',
  promise: 'sign-in: of any number of requests with a refresh token all get the same next one for a minute, and later ones end it',
  budget: { faults: 1, crashes: 1 },
  prepare: async (before) => {
    const token = String(await openRefreshTokens(before).start('f'.repeat(43), grant, Date.now(), 3_600));
    return {
      callers: alike(3, async ({ table }) => {
        const tokens = openRefreshTokens(table);
        const found = await tokens.findOrEnd(token, Date.now());
        return found && (await tokens.rotate(found, Date.now()));
      }),
      check: async ({ outcomes, table, isFaultless }) => {
        requireCodes({ outcomes }, 'SERVICE_UNAVAILABLE');
        const next = valuesOf(outcomes);
        assert.ok(new Set(next).size <= 1, 'a refresh token was replaced twice');
        if (!isFaultless) return;
        assert.deepEqual(
          next.map((value) => typeof value),
          ['string', 'string', 'string'],
          'a repeated request was refused',
        );
        const tokens = openRefreshTokens(table);
        assert.ok(await tokens.findOrEnd(String(next[0]), Date.now()), 'the next token is of no use');
        await tokens.findOrEnd(token, Date.now() + 61_000);
        assert.equal(await tokens.findOrEnd(String(next[0]), Date.now()), undefined, 'a late reuse did not end the family');
      },
    };
  },
};

export const signInScenarios: Scenario[] = [oneAtATime, exchanged, renewed, alone];
