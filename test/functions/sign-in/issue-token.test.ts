import { randomUUID } from 'node:crypto';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openUsedJtis } from '../../../functions/core/activity/used-jti.ts';
import { countCalls } from '../../../functions/core/limit/limit-request.ts';
import { openRateLimiter } from '../../../functions/core/limit/rate-limiter.ts';
import { accountOf, personOf, signedInAgentId } from '../../../functions/core/pat/holder.ts';
import { openProofs } from '../../../functions/core/pat/proof.ts';
import { signPat } from '../../../functions/core/pat/token.ts';
import { openPatVerifier } from '../../../functions/core/pat/verify.ts';
import { unavailable } from '../../../functions/core/runtime/api-error.ts';
import { keys } from '../../../functions/core/table/keys.ts';
import { openRefreshTokens } from '../../../functions/sign-in/refresh-tokens.ts';
import { type AuthorizationGrant, openSignIns } from '../../../functions/sign-in/sign-ins.ts';
import { type PatClaims, patClaims, personPatClaims } from '../../../schemas/pat.ts';
import { tokenRefusal, tokenResponse } from '../../../schemas/sign-in/sign-in.ts';
import { bindAgent } from '../../support/bind-agent.ts';
import { baseUrl, startGate } from '../../support/gate.ts';
import { type Answer, invoke } from '../../support/invoke.ts';
import { loadPolicyTemplate, openPolicy } from '../../support/policy.ts';
import { makeVerifier } from '../../support/sign-in/sign-in.ts';
import { openToken } from '../../support/sign-in/token-endpoint.ts';
import { blockAgent, revokeAgent, unblockAgent } from '../../support/stop-agent.ts';

const gate = await startGate();
afterAll(() => gate.stop());

const { table } = gate.database;
const signIns = openSignIns(table);
const exchange = openToken(gate);
const template = loadPolicyTemplate();
const verifyPat = openPatVerifier({ findKey: gate.signingKeys.find });
const { verifier, challenge } = makeVerifier();

let grant: AuthorizationGrant;
beforeEach(() => {
  grant = {
    person: { subject: randomUUID(), userName: 'user' },
    clientId: 'https://host.example/client.json',
    redirectUri: 'https://host.example/callback',
    codeChallenge: challenge,
    resource: `${baseUrl}/mcp`,
    policy: openPolicy(template)(baseUrl).reference,
  };
});

const keepCode = (nowMs = Date.now()) => signIns.keepGrant(grant, nowMs);

/** What the client of the grant sends; `null` leaves a field out. */
const formOf = (code: string, changes: Record<string, string | null> = {}): string =>
  Object.entries({
    grant_type: 'authorization_code',
    code,
    client_id: grant.clientId,
    redirect_uri: grant.redirectUri,
    code_verifier: verifier,
    resource: grant.resource ?? null,
    ...changes,
  })
    .flatMap(([name, value]) => (value === null ? [] : [`${name}=${encodeURIComponent(value)}`]))
    .join('&');

const post = (path: string, body: string, headers: Record<string, string> = {}, steps = exchange): Promise<Answer> =>
  invoke(steps, `POST ${path}`, { headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers }, body });

const send = (body: string, headers: Record<string, string> = {}, steps = exchange) => post('/oauth/token', body, headers, steps);

const withClient = (form: Record<string, string>): string => new URLSearchParams({ client_id: grant.clientId, ...form }).toString();

const renew = (refresh_token: string, changes: Record<string, string> = {}, steps = exchange) =>
  send(withClient({ grant_type: 'refresh_token', refresh_token, ...changes }), {}, steps);

const revoke = (form: Record<string, string>) => post('/oauth/revoke', withClient(form));

async function claimsOf({ status, body }: Answer): Promise<PatClaims> {
  expect({ status, body }).toEqual({ status: 200, body: expect.any(Object) });
  return verifyPat(tokenResponse.parse(body).access_token, { baseUrl, nowMs: Date.now() });
}

/** A refusal in the form of RFC 6749, which must not be stored. */
function refusalOf({ status, headers, body }: Answer) {
  tokenRefusal.parse(body);
  expect(headers).toMatchObject({ 'Content-Type': 'application/json', 'Cache-Control': 'no-store', Pragma: 'no-cache' });
  return [status, body.error];
}

test('the token is a PAT of the policy in force, with person and client in place of a key', async () => {
  const answer = await send(formOf(await keepCode()));
  const claims = await claimsOf(answer);
  expect(answer.body).toEqual({
    access_token: expect.any(String),
    token_type: 'Bearer',
    expires_in: 3_600,
    refresh_token: expect.stringMatching(/^[\w-]{43}\.[\w-]{43}$/),
    scope: '*:*:*:execute offline_access',
  });
  expect(answer.headers).toMatchObject({ 'Cache-Control': 'no-store', Pragma: 'no-cache' });
  expect(personPatClaims.parse(claims)).toEqual({
    iss: baseUrl,
    aud: baseUrl,
    sub: signedInAgentId(grant.person.subject, grant.clientId),
    iat: expect.any(Number),
    nbf: claims.iat - 10,
    exp: claims.iat + 3_600,
    jti: expect.any(String),
    scope: ['*:*:*:execute'],
    pol: grant.policy,
    gen: expect.any(String),
    lmt: { rate: 60, period: 60 },
    person: expect.stringMatching(/^person\./),
    client_id: grant.clientId,
  });
  expect(await table.get(keys.agent(claims.sub))).toMatchObject({ agent_id: claims.sub, generation: claims.gen });
});

test('the redirect_uri may be left out, as in OAuth 2.1', async () => {
  await claimsOf(await send(formOf(await keepCode(), { redirect_uri: null })));
});

test('a code without its code_verifier cannot end the refresh tokens', async () => {
  const code = await keepCode();
  const { body } = await send(formOf(code));
  const { id = '' } = (await signIns.findGrant(code, Date.now())) ?? {};
  const guess = `${id}.${'a'.repeat(43)}`;
  expect((await renew(guess)).status).toBe(400);
  expect((await revoke({ token: guess })).status).toBe(200);
  expect(refusalOf(await send(formOf(code, { code_verifier: makeVerifier().verifier })))).toEqual([400, 'invalid_grant']);
  expect((await renew(body.refresh_token)).status).toBe(200);
});

describe('a resource may be named in both requests, in one or in none', () => {
  const gateItself = [baseUrl, `${baseUrl}/`, `${baseUrl}/mcp`, `${baseUrl}/mcp/sign-in`];
  const cases: [authorization: string | undefined, token: string | null, later: string | undefined][] = [
    ...gateItself.map((name): (typeof cases)[number] => [name, name, name]),
    ...gateItself.map((name): (typeof cases)[number] => [name, null, undefined]),
    ...gateItself.map((name): (typeof cases)[number] => [undefined, name, name]),
    ...gateItself.map((name): (typeof cases)[number] => [undefined, null, name]),
    [undefined, null, undefined],
    [undefined, '', ''],
    [`${baseUrl}/`, baseUrl, `${baseUrl}/`],
    [`${baseUrl}/mcp/`, `${baseUrl}/mcp`, `${baseUrl.replace('https:', 'HTTPS:')}/mcp`],
  ];
  test.each(cases)('a resource may be %s, then %s, then %s', async (authorization, token, later) => {
    grant = { ...grant, resource: authorization };
    const answer = await send(formOf(await keepCode(), { resource: token }));
    expect(await claimsOf(answer)).toMatchObject({ aud: baseUrl });
    const renewed = await renew(answer.body.refresh_token, later === undefined ? {} : { resource: later });
    expect(await claimsOf(renewed)).toMatchObject({ aud: baseUrl });
  });

  test('another resource is refused, although the authorization request named none', async () => {
    grant = { ...grant, resource: undefined };
    const code = await keepCode();
    const wrong = { resource: 'https://other.example/mcp' };
    expect(refusalOf(await send(formOf(code, wrong)))).toEqual([400, 'invalid_target']);
    const { refresh_token } = (await send(formOf(code, { resource: null }))).body;
    expect(refusalOf(await renew(refresh_token, wrong))).toEqual([400, 'invalid_target']);
    expect((await renew(refresh_token)).status).toBe(200);
  });
});

describe('refused requests', () => {
  const other = makeVerifier().verifier;
  const cases: [title: string, changes: Record<string, string | null>, error: string][] = [
    ['a grant of another type', { grant_type: 'client_credentials' }, 'unsupported_grant_type'],
    ['no code', { code: null }, 'invalid_request'],
    ['no grant type', { grant_type: null }, 'invalid_request'],
    ['an unknown code', { code: 'a'.repeat(43) }, 'invalid_grant'],
    ['no code_verifier', { code_verifier: null }, 'invalid_request'],
    ['a short code_verifier', { code_verifier: 'abc' }, 'invalid_request'],
    ['an empty code_verifier', { code_verifier: '' }, 'invalid_request'],
    ['the challenge as code_verifier', { code_verifier: challenge }, 'invalid_grant'],
    ['another code_verifier', { code_verifier: other }, 'invalid_grant'],
    ['no client_id', { client_id: null }, 'invalid_request'],
    ['another client_id', { client_id: 'https://host.example/client.json2' }, 'invalid_grant'],
    ['a redirect_uri with an additional slash', { redirect_uri: 'https://host.example/callback/' }, 'invalid_grant'],
    ['the resource of another gate', { resource: 'https://other.example/mcp' }, 'invalid_target'],
    ['a resource other than the requested one', { resource: baseUrl }, 'invalid_target'],
    ['a resource that only begins like this gate', { resource: `${baseUrl}.other.example` }, 'invalid_target'],
  ];

  test.each(cases)('a request with %s is refused, and does not consume the code', async (_, changes, error) => {
    const code = await keepCode();
    expect(refusalOf(await send(formOf(code, changes)))).toEqual([400, error]);
    expect((await send(formOf(code))).status).toBe(200);
  });

  test('a request with a second code is refused', async () => {
    const answer = await send(`${formOf(await keepCode())}&code=x`);
    expect(refusalOf(answer)).toEqual([400, 'invalid_request']);
    expect(answer.body.error_description).toBe('code must be given once.');
  });

  test('a request in JSON is refused', async () => {
    expect(refusalOf(await send('{}', { 'Content-Type': 'application/json' }))).toEqual([400, 'invalid_request']);
  });

  test('a client that authenticates is refused', async () => {
    const answer = await send(formOf(await keepCode()), { Authorization: 'Basic YTpi' });
    expect(refusalOf(answer)).toEqual([401, 'invalid_client']);
    expect(answer.headers['WWW-Authenticate']).toMatch(/^Basic /);
  });

  test('a code is refused after a minute', async () => {
    expect(refusalOf(await send(formOf(await keepCode(Date.now() - 61_000))))).toEqual([400, 'invalid_grant']);
  });

  test('a code for a policy that has changed since is refused', async () => {
    const code = await keepCode();
    const steps = openToken(gate, { template: { ...template, uid: `${template.uid}/next` } });
    const answer = await send(formOf(code), {}, steps);
    expect(refusalOf(answer)).toEqual([400, 'invalid_grant']);
    expect(answer.body.error_description).toMatch(/^The policy has changed/);
  });

  test('more PATs an hour than the limit for person and client are refused', async () => {
    const account = accountOf(signedInAgentId(grant.person.subject, grant.clientId), personOf(grant.person.subject));
    const { charges, ...counter } = countCalls(account, 'issue', { rate: 60, period: 3_600 });
    await openRateLimiter(table).consume({ ...counter, charges: [{ ...charges[0], cost: 59 }] });
    expect((await send(formOf(await keepCode()))).status).toBe(200);
    const refused = await send(formOf(await keepCode()));
    expect(refusalOf(refused)).toEqual([429, 'temporarily_unavailable']);
    expect(Number(refused.headers['Retry-After'])).toBeGreaterThan(0);
  });
});

describe('refresh tokens', () => {
  /** The tokens of a new sign-in. */
  const signIn = async (steps = exchange): Promise<Answer['body']> => {
    const answer = await send(formOf(await keepCode()), {}, steps);
    await claimsOf(answer);
    return answer.body;
  };
  const refused = [400, 'invalid_grant'];

  test('refresh tokens get the next PAT of the same person, client and policy, and rotate', async () => {
    const first = await signIn();
    const seen = new Set([first.refresh_token]);
    let token = first.refresh_token;
    for (const changes of [{ resource: `${baseUrl}/mcp` }, { scope: 'any' }]) {
      const answer = await renew(token, changes);
      expect(await claimsOf(answer)).toMatchObject({
        sub: signedInAgentId(grant.person.subject, grant.clientId),
        client_id: grant.clientId,
        pol: grant.policy,
      });
      expect(answer.headers).toMatchObject({ 'Cache-Control': 'no-store', Pragma: 'no-cache' });
      token = answer.body.refresh_token;
      expect(seen.has(token)).toBe(false);
      seen.add(token);
    }
  });

  describe('repeated use', () => {
    const tokens = openRefreshTokens(table);
    /** Uses a token so many seconds ago. The rest of the gate refuses to work with a wrong clock. */
    const use = async (token: string, secondsAgo = 0): Promise<string> => {
      const nowMs = Date.now() - secondsAgo * 1_000;
      const found = await tokens.findOrEnd(token, nowMs);
      return (found && (await tokens.rotate(found, nowMs))) ?? 'refused';
    };
    const stranger = { client_id: 'intent-gate-public' };

    test.each([0, 1, 59])('repeated use after %i seconds yields the same, valid successor', async (seconds) => {
      const { refresh_token } = await signIn();
      const next = await use(refresh_token, seconds);
      const again = await renew(refresh_token);
      expect(await claimsOf(again)).toMatchObject({ client_id: grant.clientId });
      expect(again.body.refresh_token).toBe(next);
      expect((await renew(next)).status).toBe(200);
    });

    test.each([61, 3_600])('repeated use after %i seconds ends only the family of the token', async (seconds) => {
      const [one, other] = [await signIn(), await signIn()];
      const next = await use(one.refresh_token, seconds);
      const again = await renew(one.refresh_token);
      expect(refusalOf(again)).toEqual(refused);
      expect(again.body.error_description).toMatch(/^The refresh token is unknown, used, revoked or expired/);
      expect(refusalOf(await renew(next))).toEqual(refused);
      expect((await renew(other.refresh_token)).status).toBe(200);
    });

    test('repeated use does not prolong the minute in which it is allowed', async () => {
      const { refresh_token } = await signIn();
      const next = await use(refresh_token, 80);
      for (const secondsAgo of [50, 21]) expect(await use(refresh_token, secondsAgo)).toBe(next);
      expect(refusalOf(await renew(refresh_token))).toEqual(refused);
      expect(refusalOf(await renew(next))).toEqual(refused);
    });

    test('repeated use yields the token in use if the successor has been replaced, too, so that nobody keeps one that ends the family', async () => {
      const { refresh_token } = await signIn();
      const next = await use(refresh_token, 40);
      const newest = await use(next, 20);
      expect((await renew(refresh_token)).body.refresh_token).toBe(newest);
      expect((await renew(next)).body.refresh_token).toBe(newest);
      expect((await renew(newest)).status).toBe(200);
    });

    test('repeated use of an older token ends the family, however recently another was used', async () => {
      const { refresh_token } = await signIn();
      const newest = await use(await use(refresh_token, 61));
      expect(refusalOf(await renew(refresh_token))).toEqual(refused);
      expect(refusalOf(await renew(newest))).toEqual(refused);
    });

    test('repeated use ends the family after ten more rotations within the minute', async () => {
      const { refresh_token } = await signIn();
      let newest = refresh_token;
      for (let rotations = 0; rotations < 11; rotations++) newest = await use(newest);
      expect(refusalOf(await renew(refresh_token))).toEqual(refused);
      expect(refusalOf(await renew(newest))).toEqual(refused);
    });

    test('repeated use four times at the same time yields one successor, which works afterwards', async () => {
      const { refresh_token } = await signIn();
      const answers = await Promise.all(Array.from({ length: 4 }, () => renew(refresh_token)));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      const [next, ...more] = new Set(answers.map(({ body }) => body.refresh_token));
      expect(more).toEqual([]);
      expect((await renew(next)).status).toBe(200);
    });

    test.each([0, 59])('another client gets nothing after %i seconds, and the tokens stay valid', async (seconds) => {
      const { refresh_token } = await signIn();
      const next = await use(refresh_token, seconds);
      expect(refusalOf(await renew(refresh_token, stranger))).toEqual(refused);
      expect((await renew(refresh_token)).body.refresh_token).toBe(next);
      expect((await renew(next)).status).toBe(200);
    });

    test('another client ends the family after a minute', async () => {
      const { refresh_token } = await signIn();
      const next = await use(refresh_token, 61);
      expect(refusalOf(await renew(refresh_token, stranger))).toEqual(refused);
      expect(refusalOf(await renew(next))).toEqual(refused);
    });

    test.each(['the former', 'the newest'])('nothing is issued once %s token has been revoked', async (which) => {
      const { refresh_token } = await signIn();
      const next = await use(refresh_token);
      await revoke({ token: which === 'the former' ? refresh_token : next });
      for (const token of [refresh_token, next]) expect(refusalOf(await renew(token))).toEqual(refused);
    });

    test('nothing is issued after a block', async () => {
      const { refresh_token } = await signIn();
      await use(refresh_token);
      await blockAgent(table, signedInAgentId(grant.person.subject, grant.clientId));
      expect(refusalOf(await renew(refresh_token))).toEqual(refused);
    });
  });

  test('refresh tokens stay valid if the gate cannot sign', async () => {
    const { refresh_token } = await signIn();
    const failing = openToken(gate, {
      signingKeys: {
        ...gate.signingKeys,
        sign: async () => {
          throw unavailable('The signing keys cannot be reached. Try again after Retry-After.');
        },
      },
    });
    expect(refusalOf(await renew(refresh_token, {}, failing))).toEqual([503, 'temporarily_unavailable']);
    expect((await renew(refresh_token)).status).toBe(200);
  });

  test.each<[string, Record<string, string>, [number, string]]>([
    ['another client', { client_id: 'https://host.example/client.json2' }, [400, 'invalid_grant']],
    ['no client', { client_id: '' }, [400, 'invalid_request']],
    ['another resource', { resource: baseUrl }, [400, 'invalid_target']],
  ])('refresh tokens are refused with %s, and stay valid for their client', async (_, changes, refusal) => {
    const { refresh_token } = await signIn();
    expect(refusalOf(await renew(refresh_token, changes))).toEqual(refusal);
    expect((await renew(refresh_token)).status).toBe(200);
  });

  test.each(['', 'a.b', `${'a'.repeat(43)}.${'b'.repeat(43)}`, 'a'.repeat(201)])('%j is not a refresh token', async (token) => {
    const { status, body } = await renew(token);
    expect([status, body.error]).toEqual([400, token === '' || token.length > 200 ? 'invalid_request' : 'invalid_grant']);
  });

  test('refresh tokens end after twelve hours, however often they are used', async () => {
    const start = Date.now();
    const tokens = openRefreshTokens(table);
    const { refresh_token } = await signIn();
    const found = await tokens.findOrEnd(refresh_token, start + 11 * 3_600_000);
    const next = (found && (await tokens.rotate(found, start + 11 * 3_600_000))) ?? '';
    expect(await tokens.findOrEnd(next, start + 43_190_000)).toBeDefined();
    expect(await tokens.findOrEnd(next, start + 43_210_000)).toBeUndefined();
  });

  test('refresh tokens end when the policy changes', async () => {
    const { refresh_token } = await signIn();
    const answer = await renew(refresh_token, {}, openToken(gate, { template: { ...template, uid: `${template.uid}/next` } }));
    expect(refusalOf(answer)).toEqual(refused);
    expect(answer.body.error_description).toMatch(/^The policy has changed/);
    // even if the earlier policy comes back
    expect(refusalOf(await renew(refresh_token))).toEqual(refused);
  });

  test('refresh tokens end when the person is blocked, with any client, and stay ended when the block is lifted', async () => {
    const { refresh_token } = await signIn();
    const sub = signedInAgentId(grant.person.subject, grant.clientId);
    await blockAgent(table, sub);
    expect(refusalOf(await renew(refresh_token))).toEqual(refused);
    await unblockAgent(table, sub);
    expect(refusalOf(await renew(refresh_token))).toEqual(refused);
    expect((await signIn()).refresh_token).toBeTruthy();
  });

  test('refresh tokens end even if the block is lifted before they are used', async () => {
    const { refresh_token } = await signIn();
    const sub = signedInAgentId(grant.person.subject, grant.clientId);
    await blockAgent(table, sub);
    await unblockAgent(table, sub);
    expect(refusalOf(await renew(refresh_token))).toEqual(refused);
    const later = await signIn();
    expect((await renew(later.refresh_token)).status).toBe(200);
  });

  test('refresh tokens end when an admin revokes the agent', async () => {
    const { refresh_token } = await signIn();
    await revokeAgent(table, signedInAgentId(grant.person.subject, grant.clientId));
    const answer = await renew(refresh_token);
    expect(refusalOf(answer)).toEqual(refused);
    expect(answer.body.error_description).toMatch(/^The operators of this gate have revoked/);
    expect((await signIn()).refresh_token).toBeTruthy();
  });

  test('refresh tokens end if their code is used again', async () => {
    const form = formOf(await keepCode());
    const { refresh_token } = (await send(form)).body;
    expect(refusalOf(await send(form))).toEqual(refused);
    expect(refusalOf(await renew(refresh_token))).toEqual(refused);
  });

  test('refresh tokens end when their client revokes them (RFC 7009); the response does not reveal whether they existed', async () => {
    const { refresh_token } = await signIn();
    for (const form of [{ token: refresh_token, client_id: 'https://other.example/x' }, { token: 'made-up' }]) {
      expect(await revoke(form)).toMatchObject({ status: 200, body: undefined });
    }
    const { refresh_token: next } = (await renew(refresh_token)).body;
    expect(await revoke({ token: next })).toMatchObject({ status: 200, body: undefined });
    expect(refusalOf(await renew(next))).toEqual(refused);
    expect(refusalOf(await revoke({}))).toEqual([400, 'invalid_request']);
  });

  test('refresh tokens can be revoked, but PATs cannot, so revoking a PAT is an error (RFC 7009)', async () => {
    const { access_token } = await signIn();
    expect(refusalOf(await revoke({ token: access_token, token_type_hint: 'access_token' }))).toEqual([400, 'unsupported_token_type']);
  });

  test('refresh tokens are stored as digests only, and not logged', async () => {
    const former = (await signIn()).refresh_token;
    const { refresh_token } = (await renew(former)).body;
    const [family, secret] = refresh_token.split('.');
    const kept = JSON.stringify(await gate.database.client.send(new ScanCommand({ TableName: gate.database.tableNames.activity })));
    expect(kept).not.toContain(secret);
    expect(kept).not.toContain(former.split('.')[1]);
    expect(kept).not.toContain(`REFRESH#${family}`);
  });
});

describe('agents', () => {
  test('a block of an agent applies to the person with any client', async () => {
    const { sub } = await claimsOf(await send(formOf(await keepCode())));
    await blockAgent(table, sub);
    expect(refusalOf(await send(formOf(await keepCode())))).toEqual([400, 'invalid_grant']);
    grant.clientId = 'https://another.example/client.json';
    const answer = await send(formOf(await keepCode()));
    expect(refusalOf(answer)).toEqual([400, 'invalid_grant']);
    expect(answer.body.error_description).toContain('have blocked this agent');
    grant.person = { subject: randomUUID(), userName: 'other' };
    expect((await send(formOf(await keepCode()))).status).toBe(200);
  });

  test('an id that a key already has is not given to a person', async () => {
    const id = signedInAgentId(grant.person.subject, grant.clientId);
    await bindAgent(table, id, 'a'.repeat(43));
    const answer = await send(formOf(await keepCode()));
    expect(refusalOf(answer)).toEqual([400, 'invalid_grant']);
  });

  test('two clients of one host are two agents', () => {
    const ids = ['https://host.example/a', 'https://host.example/b', 'https://host.example/a?b'].map((id) => signedInAgentId('1', id));
    expect(new Set(ids).size).toBe(3);
    expect(ids[0]).toMatch(/^signed-in:1@host\.example:[\w-]{16}$/);
    expect(
      [...signedInAgentId(randomUUID(), `https://${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.example/x`)].length,
    ).toBeLessThan(256);
  });
});

describe('kinds of PATs', () => {
  test('a PAT of both kinds or of neither is refused', async () => {
    const { person, client_id, ...common } = personPatClaims.parse(await claimsOf(await send(formOf(await keepCode()))));
    const cnf = { jkt: 'a'.repeat(43) };
    const kinds: [object, boolean][] = [
      [{ person, client_id }, true],
      [{ cnf }, true],
      [{}, false],
      [{ person }, false],
      [{ client_id }, false],
      [{ cnf, person, client_id }, false],
      [{ cnf, client_id }, false],
      [{ person, client_id, dpop: true }, false],
      [{ person: cnf.jkt, client_id }, false],
      [{ cnf: {}, client_id }, false],
    ];
    for (const [kind, isGood] of kinds) expect([kind, patClaims.safeParse({ ...common, ...kind }).success]).toEqual([kind, isGood]);
    const both = await signPat(gate.signingKeys, { ...common, cnf, person, client_id } as PatClaims);
    await expect(verifyPat(both, { baseUrl, nowMs: Date.now() })).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  });

  test.each<[string, Record<string, string>, boolean]>([
    ['a proof is sent', { DPoP: 'a.b.c' }, false],
    ['it comes as if it were bound to a key', { Authorization: 'DPoP a.b.c' }, false],
    ['the gate asks for proofs', {}, true],
  ])("a person's PAT is refused if %s", async (_, headers, isRequired) => {
    const claims = await claimsOf(await send(formOf(await keepCode())));
    const proofs = openProofs(openUsedJtis(table), isRequired);
    const { status, body } = await invoke(
      async (request) => {
        await proofs.checkAtUse(request, 'token', claims, Date.now());
        return { status: 204 };
      },
      'GET /',
      { headers: { Authorization: 'Bearer token', ...headers } },
    );
    expect([status, body?.error.code, body?.error.message]).toEqual([401, 'UNAUTHORIZED', expect.stringContaining('bound to no key')]);
  });
});
