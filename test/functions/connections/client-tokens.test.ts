import { afterAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { openIssuers } from '../../../functions/connections/issuers.ts';
import { connectionKeys } from '../../../functions/connections/records.ts';
import { startIssuer } from '../../support/connections/issuer.ts';
import { openConnectionParts } from '../../support/connections/parts.ts';
import { baseUrl, execute, newAgent, obtainPat, startGate } from '../../support/gate.ts';
import { refusalOf } from '../../support/invoke.ts';
import { skipOutwaiting } from '../../support/let-pass.ts';
import { startUpstream } from '../../support/upstream.ts';

const issuer = await startIssuer();
const upstream = await startUpstream(({ headers }, response) => {
  const holder = issuer.holderOf(headers.authorization);
  response.writeHead(holder === undefined ? 401 : 200, { 'content-type': 'application/json' });
  // repeats the token, as careless services do
  response.end(JSON.stringify({ name: holder ?? 'nobody', seen: headers.authorization }));
});
const gate = await startGate();
afterAll(() => Promise.all([gate.stop(), upstream.stop(), issuer.stop()]));
const parts = openConnectionParts(gate);
const origin = `http://127.0.0.1:${upstream.port}`;
let pat = '';

const client = () => ({ issuer: issuer.issuer, client_id: 'gate', client_secret: issuer.clientSecret, grant: 'client' });
const usual = { ...issuer.behaviour };
beforeEach(async () => {
  jest.restoreAllMocks();
  skipOutwaiting();
  pat = await obtainPat(gate, await newAgent());
  Object.assign(issuer.behaviour, { before: undefined, after: undefined }, usual);
  issuer.grants.length = 0;
  upstream.seen.length = 0;
});
const call = (uid: string, tokens = parts.openTokens()) => execute(gate.openExecute(tokens), pat, uid, { code: 'FR' });
const noToken = { reason: 'no_token', outcome: 'not_sent' };

test('a token is obtained once, kept for all instances, sent, and hidden in the answer', async () => {
  const { uid, serviceId } = await parts.newService(
    origin,
    { ...client(), scopes: ['a', 'b'], audience: 'there' },
    { headers: { 'X-Key': 'k' } },
  );
  const [one, other] = [parts.openTokens(), parts.openTokens()];
  for (const tokens of [one, one, other]) {
    const { status, body } = await call(uid, tokens);
    expect({ status, body }).toEqual({ status: 200, body: { name: 'gate', seen: '[credential]' } });
  }
  expect(issuer.grants).toEqual(['client_credentials']);
  expect(upstream.seen.map(({ headers }) => headers['x-key'])).toEqual(['k', 'k', 'k']);
  const record = await gate.database.table.get(connectionKeys.ofService(serviceId));
  expect(JSON.stringify(record)).not.toContain('canary');
});

test('of two hundred calls at the same time in three instances, one obtains the token', async () => {
  const { serviceId } = await parts.newService(origin, client());
  const sources = [parts.openTokens(), parts.openTokens(), parts.openTokens()];
  const values = await Promise.all(Array.from({ length: 201 }, (_, at) => parts.obtain(sources[at % 3], serviceId)));
  expect(new Set(values.map(({ headers }) => headers.Authorization)).size).toBe(1);
  expect(issuer.grants).toEqual(['client_credentials']);
});

test('a token is renewed shortly before it ends', async () => {
  const { uid } = await parts.newService(origin, client());
  let laterMs = 0;
  const tokens = parts.openTokens({ now: () => Date.now() + laterMs });
  for (const later of [0, 3_500_000, 3_550_000]) {
    laterMs = later;
    expect(await call(uid, tokens)).toMatchObject({ status: 200 });
  }
  expect(issuer.grants).toHaveLength(2);
});

test('after a 401, the token is renewed once and the call sent once more', async () => {
  const { uid } = await parts.newService(origin, client());
  let laterMs = 0;
  const tokens = parts.openTokens({ now: () => Date.now() + laterMs });
  expect(await call(uid, tokens)).toMatchObject({ status: 200 });
  issuer.expireAccessTokens();
  expect(refusalOf(await call(uid, tokens))).toMatchObject({ status: 502, details: { upstream_status: 401 } });
  laterMs = 11_000;
  expect(await call(uid, tokens)).toMatchObject({ status: 200, body: { name: 'gate', seen: '[credential]' } });
  expect([issuer.grants.length, upstream.seen.length]).toEqual([2, 4]);
});

test('a replaced credential obtains another token, and a fixed one none', async () => {
  const { uid, serviceId } = await parts.newService(origin, client());
  const tokens = parts.openTokens();
  expect(await call(uid, tokens)).toMatchObject({ status: 200 });
  await parts.putCredential(serviceId, { oauth: client(), origins: [origin] });
  expect(await call(uid, tokens)).toMatchObject({ status: 200 });
  expect(issuer.grants).toHaveLength(2);
  await parts.putCredential(serviceId, { header_name: 'Authorization', header_value: 'Bearer fixed-value', origins: [origin] });
  expect(await call(uid, tokens)).toMatchObject({ status: 502 });
  expect(upstream.seen.at(-1)?.headers.authorization).toBe('Bearer fixed-value');
});

test('without the feature, a call whose credential is a client is refused', async () => {
  const { uid } = await parts.newService(origin, client());
  expect(refusalOf(await execute(gate.openExecute(), pat, uid, { code: 'FR' }))).toMatchObject({
    status: 503,
    code: 'SERVICE_UNAVAILABLE',
    details: { reason: 'no_credential', outcome: 'not_sent' },
  });
  expect(upstream.seen).toEqual([]);
});

describe('issuers as people meet them', () => {
  const good: [name: string, behaviour: object, client?: object][] = [
    ['OpenID Connect discovery', { discovery: 'oidc' }],
    ['an issuer with a path', { path: '/realms/a' }],
    ['an issuer with a path and OpenID Connect discovery', { path: '/realms/a', discovery: 'oidc' }],
    ['no discovery', { discovery: 'none' }, { issuer: undefined, token_endpoint: `${issuer.origin}/token` }],
    ['a client that authenticates in the body', { authentication: 'post' }],
    [
      'metadata that names the body',
      { authentication: 'post', metadata: { token_endpoint_auth_methods_supported: ['client_secret_post'] } },
    ],
    ['a life in quotation marks', { lifeSeconds: '3600' }],
    ['no life', { lifeSeconds: undefined }],
    ['a life that is no number', { lifeSeconds: 'soon' }],
    ['a life that stands for never', { lifeSeconds: 9223372036854775000 }],
    ['scopes as a list', { after: (tokens: object) => ({ body: { ...tokens, scope: ['a', 'b'] } }) }],
    ['no token type, and empty members', { after: (tokens: object) => ({ body: { ...tokens, token_type: null, refresh_token: '' } }) }],
    ['a token of identity that is none', { after: (tokens: object) => ({ body: { ...tokens, id_token: 'none' } }) }],
  ];
  test.each(good)('a token is obtained from an issuer with %s', async (_, behaviour, more = {}) => {
    Object.assign(issuer.behaviour, behaviour);
    const { uid } = await parts.newService(origin, { ...client(), ...more });
    expect(await call(uid)).toMatchObject({ status: 200, body: { name: 'gate' } });
  });

  test('a refusal does not show which way to authenticate is the right one', async () => {
    const refuse = (form: URLSearchParams) => (form.has('client_secret') ? { status: 400, body: { error: 'invalid_request' } } : undefined);
    Object.assign(issuer.behaviour, { authentication: 'basic', before: refuse });
    const issuers = openIssuers({ rules: { ports: [443], allowLoopback: true, ownHosts: [] } });
    const given = client() as Parameters<typeof issuers.obtain>[0];
    await expect(issuers.obtain({ ...given, client_secret: 'wrong' }, baseUrl)).rejects.toMatchObject({
      words: { error: 'invalid_request' },
    });
    expect(await issuers.obtain(given, baseUrl)).toMatchObject({ access: expect.stringContaining('canary') });
  });

  test('a token of 16 KB is obtained', async () => {
    const long = `canary-${'x'.repeat(14_000)}`;
    issuer.behaviour.after = (tokens) => ({ body: { ...tokens, access_token: long } });
    const { uid } = await parts.newService(origin, client());
    await call(uid);
    expect(upstream.seen[0]?.headers.authorization).toBe(`Bearer ${long}`);
  });

  const words = (issuer_error: string, issuer_error_description?: string) => ({
    issuer_error,
    ...(issuer_error_description !== undefined && { issuer_error_description }),
  });
  const bad: [name: string, behaviour: object, status: number, details: object, client?: object][] = [
    ['refuses the client', {}, 502, words('invalid_client', 'Client authentication failed'), { client_secret: 'wrong' }],
    [
      'refuses with status 200',
      { before: () => ({ body: { error: 'invalid_scope', error_description: 'No such\nscope' } }) },
      502,
      words('invalid_scope', 'No such scope'),
    ],
    [
      'repeats the secret',
      {
        before: (form: URLSearchParams) => ({
          status: 400,
          body: { error: 'invalid_request', error_description: `${form} ${issuer.clientSecret}` },
        }),
      },
      502,
      words('invalid_request', 'grant_type=client_credentials [credential]'),
    ],
    [
      'is unavailable',
      { before: () => ({ status: 503, body: { error: 'temporarily_unavailable' } }) },
      503,
      words('temporarily_unavailable'),
    ],
    [
      'answers with a page',
      { before: () => ({ status: 200, headers: { 'content-type': 'text/html' }, body: '<p>Welcome' }) },
      503,
      { issuer_error_description: 'The answer of the issuer contains no token that can be used.' },
    ],
    [
      'redirects',
      { before: () => ({ status: 302, headers: { location: 'http://127.0.0.1:9001/' }, body: '' }) },
      503,
      { issuer_error_description: 'The issuer answered with status 302.' },
    ],
    [
      'issues a token with a line break',
      { after: (tokens: object) => ({ body: { ...tokens, access_token: 'a\r\nX-Evil: b' } }) },
      503,
      { issuer_error_description: 'The answer of the issuer contains no token that can be used.' },
    ],
    [
      'issues a token that needs a proof',
      { after: (tokens: object) => ({ body: { ...tokens, token_type: 'DPoP' } }) },
      503,
      { issuer_error_description: 'The answer of the issuer contains no token that can be used.' },
    ],
    [
      'never answers',
      { before: () => new Promise(() => {}) },
      503,
      { issuer_error_description: 'The issuer did not answer properly, or not in time.' },
    ],
    ['has no metadata', { discovery: 'none' }, 503, { issuer_error_description: 'The metadata of the issuer cannot be read.' }],
    [
      'describes another issuer',
      { metadata: { issuer: 'https://other.example' } },
      503,
      { issuer_error_description: 'The metadata of the issuer cannot be read.' },
    ],
    [
      'names an address in a private network',
      { metadata: { token_endpoint: 'http://10.0.0.1/token' } },
      503,
      { issuer_error_description: 'The issuer has an address that this gate does not call.' },
    ],
    [
      'cannot be reached',
      {},
      503,
      { issuer_error_description: 'The issuer cannot be reached.' },
      { issuer: undefined, token_endpoint: 'http://127.0.0.1:1/token' },
    ],
  ];
  test.each(bad)('nothing is sent if the issuer %s', async (_, behaviour, status, details, more = {}) => {
    Object.assign(issuer.behaviour, behaviour);
    const { uid } = await parts.newService(origin, { ...client(), ...more });
    const refusal = refusalOf(await call(uid));
    expect(refusal).toMatchObject({ status, details: { ...noToken, ...details } });
    expect(JSON.stringify(refusal)).not.toContain('canary');
    expect(upstream.seen).toEqual([]);
  });

  test('the metadata of an issuer is read once an hour; if it cannot be had, the issuer is left alone for five seconds, and the last is used', async () => {
    let nowMs = Date.now();
    jest.spyOn(Date, 'now').mockImplementation(() => nowMs);
    const issuers = openIssuers({ rules: { ports: [443], allowLoopback: true, ownHosts: [] } });
    const read = () => issuers.metadataOf({ issuer: issuer.issuer, client_id: 'gate', grant: 'person' }, baseUrl).catch(() => undefined);
    const readings: [afterMs: number, discovery: 'oauth2' | 'none', requests: number][] = [
      [0, 'none', 2],
      [4_900, 'oauth2', 0],
      [200, 'oauth2', 1],
      [3_500_000, 'none', 0],
      [200_000, 'none', 2],
    ];
    let isKnown = false;
    for (const [afterMs, discovery, requests] of readings) {
      Object.assign(issuer.behaviour, { discovery });
      nowMs += afterMs;
      issuer.seen.length = 0;
      await Promise.all([read(), read()]);
      isKnown ||= discovery === 'oauth2' && requests > 0;
      expect({ nowMs, isKnown: (await read()) !== undefined }).toEqual({ nowMs, isKnown });
      expect({ nowMs, requests: issuer.seen.length }).toEqual({ nowMs, requests });
    }
  });

  test('an issuer that has failed is left alone for five seconds, and then asked again', async () => {
    issuer.behaviour.before = () => ({ status: 503, body: {} });
    const { uid } = await parts.newService(origin, client());
    let laterMs = 0;
    const tokens = parts.openTokens({ now: () => Date.now() + laterMs });
    for (let times = 0; times < 3; times++) expect(await call(uid, tokens)).toMatchObject({ status: 503 });
    expect(issuer.grants).toHaveLength(1);
    issuer.behaviour.before = undefined;
    laterMs = 5_100;
    expect(await call(uid, tokens)).toMatchObject({ status: 200 });
  });
});
