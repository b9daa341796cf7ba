import { afterAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createAction as createEnd } from '../../../functions/connections/end-connection.ts';
import { openIssuers } from '../../../functions/connections/issuers.ts';
import { createAction as createList } from '../../../functions/connections/list-connections.ts';
import { connectionKeys } from '../../../functions/connections/records.ts';
import { recheckAfterMs } from '../../../functions/core/execution/block-check.ts';
import { personOf, signedInAgentId } from '../../../functions/core/pat/holder.ts';
import { digestOf } from '../../../functions/sign-in/sign-ins.ts';
import { connectionList } from '../../../schemas/connections/connections.ts';
import { startIssuer } from '../../support/connections/issuer.ts';
import { openPages } from '../../support/connections/pages.ts';
import { openConnectionParts } from '../../support/connections/parts.ts';
import { baseUrl, execute, newAgent, obtainPat, startGate } from '../../support/gate.ts';
import { invoke, refusalOf } from '../../support/invoke.ts';
import { letPass, skipOutwaiting } from '../../support/let-pass.ts';
import { blockAgent } from '../../support/stop-agent.ts';
import { startUpstream } from '../../support/upstream.ts';

const issuer = await startIssuer();
const upstream = await startUpstream(({ headers }, response) => {
  const holder = issuer.holderOf(headers.authorization);
  response.writeHead(holder === undefined ? 401 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ name: holder ?? 'nobody', seen: headers.authorization }));
});
const gate = await startGate();
afterAll(() => Promise.all([gate.stop(), upstream.stop(), issuer.stop()]));
const { table } = gate.database;
const parts = openConnectionParts(gate);
const pages = openPages(gate, parts);
const origin = `http://127.0.0.1:${upstream.port}`;
const client = () => ({
  issuer: issuer.issuer,
  client_id: 'gate',
  client_secret: issuer.clientSecret,
  grant: 'person',
  scopes: ['read', 'write'],
});
const usual = { ...issuer.behaviour };
let count = 0;
let subject = '';
let browser: Record<string, string> = {};
beforeEach(async () => {
  jest.restoreAllMocks();
  skipOutwaiting();
  Object.assign(issuer.behaviour, { before: undefined, after: undefined }, usual);
  issuer.grants.length = 0;
  upstream.seen.length = 0;
  issuer.subjects.length = 0;
  subject = `person-${++count}`;
  issuer.subjects.push(subject);
  browser = await pages.signIn(subject);
});

const call = async (uid: string, { who = subject, tokens = parts.openTokens(), headers = {} } = {}) =>
  execute(gate.openExecute(tokens), await parts.newPersonPat(who), uid, { code: 'FR' }, headers);
const connectRefusal = (serviceId: string, more = {}) => ({
  status: 403,
  code: 'FORBIDDEN',
  details: { reason: 'connect', url: `${baseUrl}/connect/${serviceId}`, outcome: 'not_sent', ...more },
});
const grantOf = (serviceId: string, who = subject) => table.get(connectionKeys.ofPerson(personOf(who), serviceId));
/** An instance whose clock is ahead. */
const later = (laterMs: number) => parts.openTokens({ now: () => Date.now() + laterMs });
const hour = 3_600_000;

test('a person goes from the refusal over the pages to a call with a token of their own', async () => {
  const { serviceId, uid } = await parts.newService(origin, client());
  expect(refusalOf(await call(uid))).toMatchObject(connectRefusal(serviceId));

  const first = await pages.showPage(serviceId);
  expect(first).toMatchObject({ status: 302, headers: { Location: expect.stringContaining('https://pool.example/oauth2/authorize?') } });
  const page = await pages.showPage(serviceId, browser);
  for (const shown of ['read, write', `user ${subject}`, new URL(issuer.issuer).host]) expect(page.body).toContain(shown);
  const last = await pages.connect(serviceId, browser);
  expect({ status: last.status, title: /<h1>(.*)<\/h1>/.exec(last.body)?.[1] }).toEqual({
    status: 200,
    title: expect.stringMatching(/^You are connected to /),
  });
  expect(await call(uid)).toMatchObject({ status: 200, body: { name: subject, seen: '[credential]' } });
  expect((await pages.showPage(serviceId, browser)).body).toContain('You have been connected since');
  expect(JSON.stringify([await grantOf(serviceId), last.body])).not.toContain('canary');
});

test('an agent that acts for nobody is refused', async () => {
  const { uid } = await parts.newService(origin, client());
  const answer = await execute(gate.openExecute(parts.openTokens()), await obtainPat(gate, await newAgent()), uid, {
    code: 'FR',
  });
  expect(refusalOf(answer)).toMatchObject({ status: 403, code: 'FORBIDDEN', details: { reason: 'person_required', outcome: 'not_sent' } });
});

test('a refusal leaves the idempotency key free and no call counted', async () => {
  const { serviceId, uid } = await parts.newService(origin, client());
  const headers = { 'Idempotency-Key': 'one' };
  expect(refusalOf(await call(uid, { headers }))).toMatchObject(connectRefusal(serviceId));
  await pages.connect(serviceId, browser);
  expect(await call(uid, { headers })).toMatchObject({ status: 200, body: { name: subject } });
});

test('a token that is valid costs an execution no read of the table and no request to KMS or the issuer', async () => {
  const { serviceId, uid } = await parts.newService(origin, client());
  await pages.connect(serviceId, browser);
  let reads = 0;
  const counting: typeof table = {
    ...table,
    get: (key) => {
      reads++;
      return table.get(key);
    },
  };
  const tokens = parts.openTokens({ over: counting });
  const pat = await parts.newPersonPat(subject);
  const steps = gate.openExecute(tokens);
  await execute(steps, pat, uid, { code: 'FR' });
  const [before, asked] = [gate.kms.operations.length, issuer.grants.length];
  for (let times = 0; times < 3; times++) expect(await execute(steps, pat, uid, { code: 'FR' })).toMatchObject({ status: 200 });
  expect([reads, gate.kms.operations.length, issuer.grants.length]).toEqual([0, before, asked]);
});

describe('a refresh', () => {
  test.each([true, false])(
    'renews the token once for 200 calls at the same time in three instances, if refresh tokens rotate: %s',
    async (rotates) => {
      issuer.behaviour.rotates = rotates;
      const { serviceId } = await parts.newService(origin, client());
      await pages.connect(serviceId, browser);
      const sources = [later(hour), later(hour), later(hour)];
      const values = await Promise.all(Array.from({ length: 201 }, (_, at) => parts.obtain(sources[at % 3], serviceId, subject)));
      expect(new Set(values.map(({ headers }) => headers.Authorization)).size).toBe(1);
      expect(issuer.grants).toEqual(['authorization_code', 'refresh_token']);
      await parts.obtain(later(3 * hour), serviceId, subject);
      expect(issuer.grants).toHaveLength(3);
    },
  );

  test('follows a 401 once, and the call is sent once more', async () => {
    const { serviceId, uid } = await parts.newService(origin, client());
    await pages.connect(serviceId, browser);
    issuer.expireAccessTokens();
    expect(await call(uid, { tokens: later(11_000) })).toMatchObject({ status: 200, body: { name: subject } });
    expect([issuer.grants.length, upstream.seen.length]).toEqual([2, 2]);
  });

  const ends: [name: string, behave: () => void, details: object][] = [
    [
      'whose refresh token the issuer does not know',
      () => issuer.forgetRefreshTokens(),
      { issuer_error: 'invalid_grant', issuer_error_description: 'The refresh token [credential] is not known' },
    ],
    [
      'after which the issuer fails although it has rotated',
      () => Object.assign(issuer.behaviour, { after: () => ({ status: 500, body: {} }) }),
      { issuer_error_description: 'The issuer answered with status 500.' },
    ],
    [
      'that the issuer never answers',
      () => Object.assign(issuer.behaviour, { after: () => new Promise(() => {}) }),
      { issuer_error_description: 'The issuer did not answer properly, or not in time.' },
    ],
    [
      'that is answered with a page',
      () => Object.assign(issuer.behaviour, { after: () => ({ body: '<p>Welcome' }) }),
      { issuer_error_description: 'The answer of the issuer contains no token that can be used.' },
    ],
  ];
  test.each(ends)('%s ends the connection, and everybody is told to connect again', async (_, behave, details) => {
    const { serviceId, uid } = await parts.newService(origin, client());
    await pages.connect(serviceId, browser);
    behave();
    expect(refusalOf(await call(uid, { tokens: later(hour) }))).toMatchObject(connectRefusal(serviceId, details));
    Object.assign(issuer.behaviour, { after: undefined });
    for (const tokens of [later(0), later(2 * hour)])
      expect(refusalOf(await call(uid, { tokens }))).toMatchObject(connectRefusal(serviceId, details));
    expect(issuer.grants).toEqual(['authorization_code', 'refresh_token']);
    await pages.connect(serviceId, browser);
    expect(await call(uid)).toMatchObject({ status: 200 });
  });

  test.each(ends)(
    '%s ends the connection after a 401 of the service, too, and leaves the key of the call free',
    async (_, behave, details) => {
      const { serviceId, uid } = await parts.newService(origin, client());
      await pages.connect(serviceId, browser);
      issuer.expireAccessTokens();
      behave();
      const headers = { 'Idempotency-Key': 'one' };
      const { outcome: _sent, ...known } = connectRefusal(serviceId, details).details;
      const refusal = refusalOf(await call(uid, { tokens: later(11_000), headers }));
      expect(refusal).toMatchObject({ status: 403, code: 'FORBIDDEN', details: { ...known, upstream_status: 401 } });
      expect(refusal.details).not.toHaveProperty('outcome');
      Object.assign(issuer.behaviour, { after: undefined });
      await pages.connect(serviceId, browser);
      expect(await call(uid, { headers })).toMatchObject({ status: 200 });
      expect(upstream.seen).toHaveLength(2);
    },
  );

  const kept: [name: string, answer: object, status: number][] = [
    ['is unavailable', { status: 503, body: {} }, 503],
    ['limits requests', { status: 429, body: '<p>Slow down' }, 503],
    ['refuses the client', { status: 401, body: { error: 'invalid_client' } }, 502],
  ];
  test.each(kept)('leaves the connection as it is if the issuer %s', async (_, answer, status) => {
    const { serviceId, uid } = await parts.newService(origin, client());
    await pages.connect(serviceId, browser);
    Object.assign(issuer.behaviour, { before: () => answer });
    expect(refusalOf(await call(uid, { tokens: later(hour) }))).toMatchObject({
      status,
      details: { reason: 'no_token', outcome: 'not_sent' },
    });
    issuer.behaviour.before = undefined;
    expect(await call(uid, { tokens: later(hour + 6_000) })).toMatchObject({ status: 200, body: { name: subject } });
  });

  const overtaking: [name: string, act: (serviceId: string) => Promise<unknown>, revoked: unknown[]][] = [
    ['ends meanwhile revokes', (serviceId) => parts.connections.end(subject, serviceId), [expect.stringContaining('canary-refresh')]],
    ['the person replaces meanwhile does not revoke', (serviceId) => pages.connect(serviceId, browser), []],
  ];
  test.each(overtaking)('of a connection that %s what it gets', async (_, act, revoked) => {
    const { serviceId, uid } = await parts.newService(origin, client());
    await pages.connect(serviceId, browser);
    issuer.revoked.length = 0;
    issuer.subjects.push(subject);
    issuer.behaviour.after = async (tokens) => {
      issuer.behaviour.after = undefined;
      await act(serviceId);
      return { body: tokens };
    };
    await call(uid, { tokens: later(hour) });
    expect([issuer.grants[1], issuer.revoked]).toEqual(['refresh_token', revoked]);
  });

  test('of which the outcome is unknown because its instance has crashed ends the connection, once its lease is over', async () => {
    const { serviceId, uid } = await parts.newService(origin, client());
    await pages.connect(serviceId, browser);
    await table.update(connectionKeys.ofPerson(personOf(subject), serviceId), {
      set: { lease: 'crashed', lease_until: Date.now() + hour + 20_000 },
    });
    expect(refusalOf(await call(uid, { tokens: later(hour + 26_000) }))).toMatchObject(
      connectRefusal(serviceId, { issuer_error_description: 'The gate does not know whether its last refresh token has been used.' }),
    );
    expect(issuer.grants).toEqual(['authorization_code']);
  });

  test('is refused if there is no refresh token, and the person connects again', async () => {
    issuer.behaviour.refreshes = false;
    const { serviceId, uid } = await parts.newService(origin, client());
    await pages.connect(serviceId, browser);
    expect(await call(uid)).toMatchObject({ status: 200 });
    expect(refusalOf(await call(uid, { tokens: later(hour) }))).toMatchObject(connectRefusal(serviceId));
    expect(issuer.grants).toEqual(['authorization_code']);
  });
});

describe('the callback', () => {
  const title = 'You are not connected';
  const refused = (message: string, status = 400) => ({
    status,
    body: expect.stringMatching(new RegExp(`<h1>${title}</h1>[^]*${message}`)),
  });
  const notYours = 'This consent was asked for in another browser, more than ten minutes ago, or has been used already.';

  async function atIssuer() {
    const { serviceId, uid } = await parts.newService(origin, client());
    const back = await pages.agree(await pages.submit(serviceId, browser));
    return { serviceId, uid, back };
  }

  test('of another session of the same person, or of another person, is refused, and the first can still be used', async () => {
    const { serviceId, back } = await atIssuer();
    for (const other of [await pages.signIn(subject), await pages.signIn('other'), {}])
      expect(await pages.callBack(serviceId, other, back)).toMatchObject(refused(notYours));
    expect(await pages.callBack(serviceId, browser, back)).toMatchObject({ status: 200 });
  });

  test('is refused the second time', async () => {
    const { serviceId, back } = await atIssuer();
    expect(await pages.callBack(serviceId, browser, back)).toMatchObject({ status: 200 });
    expect(await pages.callBack(serviceId, browser, back)).toMatchObject(refused(notYours));
  });

  test('is refused for another service', async () => {
    const { back } = await atIssuer();
    const { serviceId } = await parts.newService(origin, client());
    expect(await pages.callBack(serviceId, browser, back)).toMatchObject(refused(notYours));
  });

  test('is refused after ten minutes', async () => {
    const { serviceId, back } = await atIssuer();
    await table.update(connectionKeys.connecting(digestOf(String(back.state))), { set: { expires_at: Math.floor(Date.now() / 1_000) } });
    expect(await pages.callBack(serviceId, browser, back)).toMatchObject(refused(notYours));
  });

  const bad: [name: string, change: (back: Record<string, string>) => Record<string, string>, message: string][] = [
    [
      'of another issuer',
      (back) => ({ ...back, iss: 'https://other.example' }),
      'The answer does not come from the issuer of this service',
    ],
    ['without the issuer that it announces', ({ iss: _, ...back }) => back, 'The answer does not come from the issuer of this service'],
    ['without a code', ({ code: _, ...back }) => back, 'The answer does not come from the issuer of this service, or is incomplete'],
    ['with a code of somebody else', (back) => ({ ...back, code: 'canary-code-of-another' }), 'The code is not valid'],
    [
      'with an error',
      ({ code: _, ...back }) => ({ ...back, error: 'access_denied', error_description: 'The <b>person</b> said no' }),
      'The service refused \\(access_denied\\). The &lt;b&gt;person&lt;/b&gt; said no',
    ],
  ];
  test.each(bad)('%s is refused', async (_, change, message) => {
    const { serviceId, uid, back } = await atIssuer();
    expect(await pages.callBack(serviceId, browser, change(back))).toMatchObject(refused(message));
    expect(refusalOf(await call(uid))).toMatchObject(connectRefusal(serviceId));
  });

  test('of a person who has been blocked meanwhile is refused, and the tokens are revoked', async () => {
    const { serviceId, back } = await atIssuer();
    await parts.newPersonPat(subject);
    await blockAgent(table, signedInAgentId(subject, 'https://host.example/client.json'));
    issuer.revoked.length = 0;
    expect(await pages.callBack(serviceId, browser, back)).toMatchObject(refused('The operators of this gate have blocked you.', 403));
    expect([await grantOf(serviceId), issuer.revoked.length]).toEqual([undefined, 1]);
  });

  test('a form that was not shown to the person is refused', async () => {
    const { serviceId } = await parts.newService(origin, client());
    const page = await pages.showPage(serviceId, await pages.signIn('other'));
    expect(await pages.submit(serviceId, browser, page)).toMatchObject({ status: 403 });
  });

  test('an issuer that names a script as its page is refused', async () => {
    Object.assign(issuer.behaviour, { path: '/script', metadata: { authorization_endpoint: 'javascript://localhost/%0aalert(1)//' } });
    const { serviceId } = await parts.newService(origin, client());
    const answer = await pages.submit(serviceId, browser);
    expect(answer).toMatchObject(refused('The metadata of the issuer names no authorization endpoint.'));
  });
});

describe('a connection', () => {
  // the function that ends connections has not obtained tokens
  const issuers = openIssuers({ rules: { ports: [443], allowLoopback: true, ownHosts: [] } });
  const deps = { services: gate.services, credentials: gate.credentials, connections: parts.connections, issuers };
  const verifyPerson = async () => subject;
  const list = () => invoke(createList({ verifyPerson, connections: parts.connections, table }), 'GET /api/connections');
  const end = (service_id: string) =>
    invoke(createEnd({ ...deps, verifyPerson, grants: parts.openGrants() }), 'DELETE /api/connections/{service_id}', {
      path: { service_id },
    });

  test.each([
    ['in the body', { authentication: 'post' }],
    [
      'in the body for that, as its metadata says',
      { authentication: 'post', metadata: { revocation_endpoint_auth_methods_supported: ['client_secret_post'] } },
    ],
  ] as const)('is revoked at an issuer that wants the secret %s', async (_, behaviour) => {
    Object.assign(issuer.behaviour, behaviour);
    const { serviceId } = await parts.newService(origin, client());
    await pages.connect(serviceId, browser);
    issuer.revoked.length = 0;
    expect(await end(serviceId)).toMatchObject({ status: 204 });
    expect(issuer.revoked).toEqual([expect.stringContaining('canary-refresh')]);
  });

  test('is listed, and ended by its person: tokens are revoked, and no call carries them', async () => {
    const { serviceId, uid } = await parts.newService(origin, client());
    await pages.connect(serviceId, browser);
    const { status, body } = await list();
    expect(connectionList.parse(body)).toEqual(body);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        connections: [{ service_id: serviceId, scopes: ['read', 'write'], state: 'connected', url: `${baseUrl}/connect/${serviceId}` }],
      },
    });
    issuer.revoked.length = 0;
    expect(await end(serviceId)).toMatchObject({ status: 204 });
    expect(issuer.revoked).toEqual([expect.stringContaining('canary-refresh')]);
    expect(refusalOf(await call(uid))).toMatchObject(connectRefusal(serviceId));
    expect((await list()).body).toEqual({ connections: [] });
    expect(refusalOf(await end(serviceId))).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });

  test('that has been made anew while it ended keeps its tokens at the issuer', async () => {
    const { serviceId } = await parts.newService(origin, client());
    await pages.connect(serviceId, browser);
    issuer.revoked.length = 0;
    const read: typeof gate.credentials.read = async (...asked) => {
      await pages.connect(serviceId, browser);
      return gate.credentials.read(...asked);
    };
    const slow = createEnd({ ...deps, credentials: { read }, verifyPerson, grants: parts.openGrants() });
    const path = { service_id: serviceId };
    expect(await invoke(slow, 'DELETE /api/connections/{service_id}', { path })).toMatchObject({ status: 204 });
    expect(issuer.revoked).toEqual([]);
    expect((await list()).body).toMatchObject({ connections: [{ service_id: serviceId, state: 'connected' }] });
  });

  test('that ends between the token and the call stops the call', async () => {
    const { serviceId, uid } = await parts.newService(origin, client());
    await pages.connect(serviceId, browser);
    const steps = gate.openExecute({
      ...parts.openTokens(),
      connect: async () => {
        await parts.connections.end(subject, serviceId);
        letPass(recheckAfterMs + 100);
      },
    });
    expect(refusalOf(await execute(steps, await parts.newPersonPat(subject), uid, { code: 'FR' }))).toMatchObject(
      connectRefusal(serviceId),
    );
    expect(upstream.seen).toEqual([]);
  });

  test('of a service whose credential becomes a fixed one while a call runs stops the call', async () => {
    const { serviceId, uid } = await parts.newService(origin, client());
    await pages.connect(serviceId, browser);
    const steps = gate.openExecute({
      ...parts.openTokens(),
      // is answered only after the time for which a call need not read again
      connect: async () => {
        await parts.putCredential(serviceId, { header_name: 'X-Key', header_value: 'fixed-value', origins: [origin] });
        letPass(recheckAfterMs + 100);
      },
    });
    expect(refusalOf(await execute(steps, await parts.newPersonPat(subject), uid, { code: 'FR' }))).toMatchObject({
      status: 503,
      message: 'The credential of the service has just changed. Nothing was sent; try again after Retry-After.',
      details: { outcome: 'not_sent' },
    });
    expect(upstream.seen).toEqual([]);
    expect(await call(uid)).toMatchObject({ status: 502 });
    expect(upstream.seen[0]?.headers).toMatchObject({ 'x-key': 'fixed-value' });
  });

  test('is of no use to a client with other scopes', async () => {
    const { serviceId, uid } = await parts.newService(origin, client());
    await pages.connect(serviceId, browser);
    await parts.putCredential(serviceId, { oauth: { ...client(), scopes: ['more'] }, origins: [origin] });
    expect(refusalOf(await call(uid))).toMatchObject(connectRefusal(serviceId));
    expect((await list()).body).toMatchObject({ connections: [{ state: 'reconnect' }] });
  });

  test('sealed for one person is of no use in the record of another', async () => {
    const { serviceId, uid } = await parts.newService(origin, client());
    await pages.connect(serviceId, browser);
    await table.put({ ...(await grantOf(serviceId)), ...connectionKeys.ofPerson(personOf('thief'), serviceId) });
    expect(refusalOf(await call(uid, { who: 'thief' }))).toMatchObject(connectRefusal(serviceId));
  });
});
