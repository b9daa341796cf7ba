import assert from 'node:assert/strict';
import { openConnections } from '../../../functions/connections/connections.ts';
import { type GrantItem, openGrants } from '../../../functions/connections/grants.ts';
import { IssuerFailure } from '../../../functions/connections/issuer-failure.ts';
import { connectionKeys } from '../../../functions/connections/records.ts';
import { openSealer, type Tokens } from '../../../functions/connections/seal.ts';
import { openTokens } from '../../../functions/connections/tokens.ts';
import { agentRecordKeys, isBlocked, toAgentRecords } from '../../../functions/core/activity/agent.ts';
import { personOf, signedInAgentId } from '../../../functions/core/pat/holder.ts';
import { agentBlocked } from '../../../functions/core/pat/refusals.ts';
import type { Table } from '../../../functions/core/table/table.ts';
import { bindAgent } from '../../support/bind-agent.ts';
import { serviceNamed } from '../../support/records.ts';
import { blockAgent } from '../../support/stop-agent.ts';
import type { Caller, End, Failure, Scenario } from '../explore.ts';
import { alike, answerOf, firstOf, lastOf, relayFails, requireCodes, times } from '../outcomes.ts';

const client = { client_id: 'gate', grant: 'person' as const, token_endpoint: 'https://id.example/token' };
const serviceId = '01JWQ3K8Z5N7T9V2X4Y6B8D0FG';
const subject = 'person';
const person = { subject, userName: 'user' };
const key = connectionKeys.ofPerson(personOf(subject), serviceId);
const sealer = openSealer({ generateMac: async () => Buffer.alloc(32, 7) }, 'key');

/** Failures of an issuer: a request that was not sent, and one whose answer is missing. */
const failure = (variant: Failure) => new IssuerFailure(variant === 'dropped' ? 'unsent' : 'unknown', {});

/** An issuer that replaces each refresh token, and takes the second use of one for theft. */
function openIssuer() {
  let current = 'refresh-0';
  const state = { issued: 0, reused: 0, revoked: [] as string[] };
  return {
    state,
    refresh: ({ act }: Pick<Caller, 'act'>, { refresh }: Tokens) =>
      act(
        'issuer',
        () => {
          if (refresh !== current) {
            state.reused++;
            throw new IssuerFailure('refused', { error: 'invalid_grant' });
          }
          current = `refresh-${++state.issued}`;
          return { access: `access-${state.issued}`, refresh: current, lifeSeconds: 60, scopes: undefined };
        },
        { failure },
      ),
  };
}

type Issuer = ReturnType<typeof openIssuer>;

/** Keeps the first grant, which has to be renewed at once. */
async function keepFirst(table: Table, tokens: Tokens = { access: 'access-0', refresh: 'refresh-0' }): Promise<void> {
  const grants = openGrants(table, sealer);
  const { scopes: _, ...sealed } = await grants.sealedMembers(key, { ...tokens, lifeSeconds: 0, scopes: undefined });
  await openConnections(table).keep(person, serviceId, client, { ...sealed, expires_at: grants.expiresAt() }, { scopes: undefined });
}

/** Renews as a call does. @returns the access token; undefined if there is none any more */
async function renew(
  { table, act }: Pick<Caller, 'table' | 'act'>,
  issuer: Issuer,
  { now = Date.now, earlier }: { now?: () => number; earlier?: GrantItem | undefined } = {},
): Promise<string | undefined> {
  const grants = openGrants(table, sealer, now);
  const seen = earlier ?? (await table.get<GrantItem>(key));
  if (!seen?.sealed) return undefined;
  const request = (tokens: Tokens | undefined) => issuer.refresh({ act }, tokens ?? assert.fail());
  const discard = async ({ refresh }: Tokens) => void issuer.state.revoked.push(String(refresh));
  const renewal = { key, serviceId, client: seen.client, isRepeatable: false, request, discard };
  const item = seen.rev > 1 ? seen : await grants.renew(renewal, seen);
  return item && (await grants.open(key, item))?.access;
}

// A call that has waited for twelve seconds is refused, and may be repeated: then fewer than all get the token.

/** Refusals by the issuer end the grant; others are those of a table or an issuer that did not answer. */
function checkRefusals({ outcomes }: End): void {
  for (const outcome of outcomes) {
    if (outcome === 'crashed' || !('error' in outcome) || outcome.error instanceof IssuerFailure) continue;
    assert.equal((outcome.error as { code?: string }).code, 'SERVICE_UNAVAILABLE', String(outcome.error));
  }
}

/** Whatever happened, a later call ends, asks for nothing twice, and gets a token that the issuer knows or none. */
async function checkLater({ table }: End, issuer: Issuer): Promise<void> {
  const later = { table, act: async <T>(_: string, effect: () => T | Promise<T>) => effect() };
  const token = await renew(later, issuer, { now: () => Date.now() + 60_000 }).catch((error: unknown) => {
    assert.ok(error instanceof IssuerFailure, String(error));
    return undefined;
  });
  assert.equal(issuer.state.reused, 0, 'a refresh token was used twice');
  if (token !== undefined) assert.equal(token, `access-${issuer.state.issued}`, 'a call carries a token that has been replaced');
}

const refreshed: Scenario = {
  name: 'three calls renew the token of one grant',
  promise: 'connections: one refresh for a grant; if its outcome is unknown the person connects again, and no refresh token is used twice',
  budget: { faults: 1, crashes: 1 },
  prepare: async (before) => {
    await keepFirst(before);
    const issuer = openIssuer();
    return {
      callers: alike(3, (caller) => renew(caller, issuer)),
      check: async (end) => {
        checkRefusals(end);
        assert.equal(issuer.state.reused, 0, 'a refresh token was used twice');
        assert.ok(issuer.state.issued <= 1, 'a token was renewed twice');
        const answers = times(3, (at) => answerOf(end.outcomes[at]));
        if (end.isUndisturbed) assert.deepEqual(new Set(answers.filter((answer) => answer !== undefined)), new Set(['access-1']));
        await checkLater(end, issuer);
      },
    };
  },
};

const ended: Scenario = {
  name: 'a person ends a connection while two calls renew its token',
  promise: 'connections: what has ended stays ended, and tokens that nobody will use are given back',
  budget: { faults: 1, crashes: 1 },
  prepare: async (before) => {
    await keepFirst(before);
    const issuer = openIssuer();
    return {
      callers: [
        ...alike(2, (caller) => renew(caller, issuer)),
        async ({ table }: Caller) => {
          await openConnections(table).end(subject, serviceId);
          return 'ended';
        },
      ],
      check: async (end) => {
        checkRefusals(end);
        assert.equal(issuer.state.reused, 0, 'a refresh token was used twice');
        if (answerOf(end.outcomes[2]) !== 'ended') return checkLater(end, issuer);
        assert.equal(await end.table.get(key), undefined, 'a connection that has ended is there again');
        const hadToken = end.outcomes.slice(0, 2).some((outcome) => answerOf(outcome) === 'access-1');
        if (end.isUndisturbed && issuer.state.issued === 1 && !hadToken) assert.deepEqual(issuer.state.revoked, ['refresh-1']);
      },
    };
  },
};

const again: Scenario = {
  name: 'a person connects again while a call renews the token of the earlier connection',
  promise: 'connections: a late refresh neither replaces nor revokes a newer consent',
  budget: { faults: 1, crashes: 1 },
  prepare: async (before) => {
    await keepFirst(before);
    const [issuer, earlier] = [openIssuer(), await before.get<GrantItem>(key)];
    return {
      callers: [
        (caller: Caller) => renew(caller, issuer, { earlier }),
        async ({ table }: Caller) => {
          await keepFirst(table, { access: 'access-new', refresh: 'refresh-new' });
          return 'kept';
        },
      ],
      check: async (end) => {
        checkRefusals(end);
        if (answerOf(end.outcomes[1]) !== 'kept') return;
        // an issuer may end the newer consent as well
        assert.deepEqual(issuer.state.revoked, []);
        const item = await end.table.get<GrantItem>(key);
        const tokens = item && (await openGrants(end.table, sealer).open(key, item));
        assert.equal(tokens?.access, 'access-new', 'an earlier consent has replaced the newer one');
      },
    };
  },
};

const ofGate: Scenario = {
  name: 'three calls obtain the token of the gate itself',
  promise: 'connections: without a failure one of all callers asks the issuer, and all get the same token',
  budget: { faults: 1, crashes: 1 },
  prepare: async () => {
    let issued = 0;
    const request = ({ act }: Caller) =>
      act('issuer', () => ({ access: `access-${++issued}`, lifeSeconds: 60, scopes: undefined }), { failure });
    return {
      callers: alike(3, async (caller) => {
        const grants = openGrants(caller.table, sealer);
        const own = connectionKeys.ofService(serviceId);
        const renewal = {
          key: own,
          serviceId,
          client: 'version-1',
          isRepeatable: true,
          request: () => request(caller),
          discard: async () => {},
        };
        const seen = await caller.table.get<GrantItem>(own);
        const item = seen?.sealed ? seen : await grants.renew(renewal, seen);
        return item && (await grants.open(own, item))?.access;
      }),
      check: (end) => {
        checkRefusals(end);
        const answers = times(3, (at) => answerOf(end.outcomes[at]));
        if (!end.isUndisturbed) return;
        assert.equal(issued, 1, 'the issuer was asked more than once');
        assert.deepEqual(new Set(answers.filter((answer) => answer !== undefined)), new Set(['access-1']));
      },
    };
  },
};

const origin = 'https://world.example';
const agentId = signedInAgentId(subject, 'program');
const stored = { headers: ['Authorization'], query: [], origins: [origin], oauth: client, version: 'version-1', set_at: 0 };
const service = {
  ...serviceNamed('A'),
  kind: 'service' as const,
  service_id: serviceId,
  rev: 1,
  intents: 0,
  drafts: 0,
  credential: stored,
};

/** Calls the service after so long that all has to be read again. @returns what the call carried */
async function call({ table, act }: Caller, issuer: Issuer): Promise<string | undefined> {
  const read = async () => {
    const [grant, ...records] = await table.getAll([key, ...agentRecordKeys(agentId, personOf(subject))]);
    if (isBlocked(toAgentRecords(records))) throw agentBlocked('FORBIDDEN');
    return grant;
  };
  const issuers = {
    obtain: () => assert.fail(),
    refresh: (_: unknown, refresh: string) => issuer.refresh({ act }, { access: '', refresh }),
    revoke: async (_: unknown, { refresh }: Tokens) => void issuer.state.revoked.push(String(refresh)),
  };
  const credentials = { read: async () => ({ headers: {}, query: {}, origins: [origin], oauth: client }) };
  const obtain = openTokens({ table, credentials, issuers, grants: openGrants(table, sealer) });
  const known = { service, stored, principal: personOf(subject), baseUrl: origin };
  const token = await obtain({ ...known, grant: await read(), url: origin });
  token.recheck({ service, related: [undefined, await read()] });
  await act('upstream', () => {}, { failure: relayFails });
  return token.headers.Authorization;
}

const stopped: Scenario = {
  name: 'a person is blocked and ends the connection while a call renews its token',
  promise: 'connections: no call carries a token after a block, or the end of the connection, was read; what has ended stays ended',
  budget: {},
  prepare: async (before) => {
    await bindAgent(before, agentId, personOf(subject));
    await keepFirst(before);
    const issuer = openIssuer();
    return {
      callers: [
        (caller: Caller) => call(caller, issuer),
        ({ table }: Caller) => blockAgent(table, agentId),
        ({ table }: Caller) => openConnections(table).end(subject, serviceId),
      ],
      check: async (end) => {
        requireCodes(
          { outcomes: end.outcomes.slice(0, 1) },
          'FORBIDDEN',
          'SERVICE_UNAVAILABLE',
          'INTENT_EXECUTION_FAILED',
          'GATEWAY_TIMEOUT',
        );
        assert.equal(issuer.state.reused, 0, 'a refresh token was used twice');
        const hasEnded = firstOf(end, 2, 'transact') >= 0;
        if (hasEnded) assert.equal(await end.table.get(key), undefined, 'a connection that has ended is there again');
        if (firstOf(end, 0, 'upstream') < 0) return;
        for (const [read, caller, change] of [
          ['get KEY#', 1, 'update KEY#'],
          ['get GRANT#', 2, 'transact'],
        ] as const)
          assert.ok(
            firstOf(end, caller, change) < 0 || lastOf(end, 0, read) < firstOf(end, caller, change),
            `a call was sent after: ${change}`,
          );
      },
    };
  },
};

const back: Scenario = {
  name: 'a person comes back from the issuer while they are blocked',
  promise: 'connections: whoever is blocked does not connect',
  budget: { faults: 1, crashes: 1 },
  prepare: async (before) => {
    await bindAgent(before, agentId, personOf(subject));
    return {
      callers: [({ table }: Caller) => blockAgent(table, agentId), ({ table }: Caller) => keepFirst(table)],
      check: (end) => {
        const [blocked, connected] = [firstOf(end, 0, 'update KEY#'), firstOf(end, 1, 'transact')];
        assert.ok(blocked < 0 || connected < blocked, 'a person has connected after a block');
      },
    };
  },
};

export const connectionScenarios: readonly Scenario[] = [refreshed, ended, again, ofGate, stopped, back];
