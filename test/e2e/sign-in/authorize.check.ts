import { afterAll, describe, expect, test } from '@jest/globals';
import { createAction as createAccept } from '../../../functions/sign-in/accept-policy.ts';
import { createAction as createAuthorize } from '../../../functions/sign-in/authorize.ts';
import { openClients } from '../../../functions/sign-in/clients.ts';
import { createAction as createFinish } from '../../../functions/sign-in/finish-sign-in.ts';
import { openSignIns } from '../../../functions/sign-in/sign-ins.ts';
import { openUserPool } from '../../../functions/sign-in/user-pool.ts';
import { invoke } from '../../support/invoke.ts';
import { loadPolicyTemplate, openPolicy } from '../../support/policy.ts';
import { published } from '../../support/sign-in/client-documents.ts';
import {
  decide,
  makeVerifier,
  openAuthorization,
  openBrowser,
  type Page,
  readForm,
  startClientHost,
  type TestBrowser,
} from '../../support/sign-in/sign-in.ts';
import { startTable } from '../../support/table.ts';
import { startUpstream } from '../../support/upstream.ts';
import { startApi } from '../api.ts';

const [database, clientHost] = await Promise.all([startTable(), startClientHost()]);
const api = await startApi({ demo: true, background: false, dynamodbEndpoint: database.endpoint });
const { stack } = api;
const base = stack.base_url;
afterAll(() => Promise.all([database.stop(), clientHost.stop()]));

const redirectUri = 'https://host.example/callback';
const clientId = clientHost.publish([redirectUri, 'http://127.0.0.1/callback', 'http://localhost:7777/callback']);
const { verifier, challenge } = makeVerifier();

/** An authorization request; `null` leaves a parameter out. */
const addressOf = (changes: Record<string, string | null> = {}): string => {
  const parameters = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    resource: `${base}/mcp`,
    state: 'state-of-the-host',
    ...changes,
  };
  const query = Object.entries(parameters).flatMap(([name, value]) => (value === null ? [] : [`${name}=${encodeURIComponent(value)}`]));
  return `${base}/oauth/authorize?${query.join('&')}`;
};

const open = (browser: TestBrowser, changes?: Record<string, string | null>): Promise<Page> =>
  openAuthorization(browser, stack, addressOf(changes));

/** A browser in which the ordinary user has signed in. */
const browser = openBrowser();
const consent = await open(browser);

const answerOf = ({ next = '' }: Page): Record<string, string> => Object.fromEntries(new URL(next).searchParams);

async function exchange(code: string, more: Record<string, string> = {}) {
  const form = {
    grant_type: 'authorization_code',
    code,
    client_id: clientId,
    redirect_uri: redirectUri,
    code_verifier: verifier,
    resource: `${base}/mcp`,
    ...more,
  };
  const response = await fetch(`${base}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

async function obtainPat(changes: Record<string, string> = {}): Promise<string> {
  const answer = answerOf(await decide(browser, stack, await open(browser, changes)));
  const { status, body } = await exchange(answer.code ?? '', changes);
  expect({ status, body }).toMatchObject({ status: 200 });
  return body.access_token;
}

/** Everything that a page of sign-in must have, whatever it says. */
function checkPage({ headers, text }: Page): void {
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/=]+'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
  );
  expect(Object.fromEntries(headers)).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'x-frame-options': 'DENY',
    'referrer-policy': 'same-origin',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  expect(text).not.toMatch(/<script|javascript:|\son\w+=|style="/i);
}

const problemOf = ({ text }: Page): string => /<h1>This sign-in cannot continue<\/h1>\n<p>(.*?)<\/p>/.exec(text)?.[1] ?? '';

/** A refusal that the person sees, and that leads nowhere. */
function expectRefused(page: Page, problem: RegExp, status = 400): void {
  expect({ status: page.status, problem: problemOf(page), next: page.next }).toEqual({
    status,
    problem: expect.stringMatching(problem),
    next: undefined,
  });
  checkPage(page);
}

describe('the page with the policy', () => {
  test('the page with the policy says who asks, what for and for how long', () => {
    expect(consent.status).toBe(200);
    checkPage(consent);
    const words = consent.text.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
    for (const part of [
      'Let Test host act for you?',
      `Vouched for by ${new URL(clientHost.origin).host}`,
      'Sends you back to host.example',
      'Signed in as user',
      'You may execute every intent, at most 60 times a minute.',
      'You must not execute the intent world.example:export-countries:v1, whatever else is permitted.',
      'For 12 hours.',
      'a pass for 1 hour at a time, and may renew it without asking you',
    ]) {
      expect(words).toContain(part);
    }
  });

  test('the page with the policy says that a program on this computer gets the answer', async () => {
    const { text } = await open(browser, { redirect_uri: 'http://127.0.0.1:5123/callback' });
    expect(text).toContain('a program on this computer (127.0.0.1:5123)');
  });

  test('the page with the policy shows what a client calls itself as a text, and refuses names that hide something', async () => {
    const named = (client_name: string) => open(browser, { client_id: clientHost.publish([redirectUri], { client_name }) });
    const page = await named('<b onclick=x>"Acme"</b>');
    expect(page.text).toContain('Let &lt;b onclick=x&gt;&quot;Acme&quot;&lt;/b&gt; act for you?');
    expectRefused(await named('Ac\u202eme'), /If given, client_name must have at most 100 characters/);
    expectRefused(await named('x'.repeat(101)), /If given, client_name must/);
  });

  test('the page with the policy leads back with a code if the person accepts, and without if not', async () => {
    const accepted = await decide(browser, stack, await open(browser));
    checkPage(accepted);
    expect(accepted.next).toMatch(/^https:\/\/host\.example\/callback\?code=/);
    expect(answerOf(accepted)).toEqual({ code: expect.stringMatching(/^[\w-]{43}$/), state: 'state-of-the-host', iss: `${base}/oauth` });
    const declined = await decide(browser, stack, await open(browser), 'decline');
    expect(answerOf(declined)).toEqual({
      error: 'access_denied',
      error_description: 'The person declined.',
      state: 'state-of-the-host',
      iss: `${base}/oauth`,
    });
  });
});

describe('clients', () => {
  const invalid = 'https://host.example';
  test.each<[string, string, RegExp]>([
    ['no address', 'some-client', /^The client_id must be intent-gate-public, one that \/oauth\/register returned, or the https URL/],
    ['an address without a path', `${invalid}/`, /^The client_id must be/],
    ['an address with a fragment', `${invalid}/client.json#a`, /^The client_id must be/],
    ['an address with user information', 'https://user@host.example/client.json', /^The client_id must be/],
    ['an address in another spelling', 'https://HOST.example/client.json', /^The client_id must be/],
    ['an address with dot segments', `${invalid}/a/../client.json`, /^The client_id must be/],
    ['a file', 'file:///etc/passwd', /^The client_id must be/],
    ['instance metadata', 'https://169.254.169.254/latest/meta-data', /^The client metadata document cannot be read/],
    ['this gate itself', `${base}/openapi.json`, /cannot be read/],
    ['a host that is not there', 'http://127.0.0.1:1/client.json', /cannot be read/],
    ['a document that is not there', `${clientHost.origin}/none.json`, /cannot be read/],
    ['a document that is too large', clientHost.publish([redirectUri], { padding: 'x'.repeat(11_000) }), /at most 10 KiB/],
    ['a page', clientHost.publish([redirectUri], {}, { headers: { 'Content-Type': 'text/html' } }), /cannot be read/],
    ['a document with another client_id', clientHost.publish([redirectUri], { client_id: clientId }), /must be the URL of that document/],
    ['a document without redirect URIs', clientHost.publish([]), /must have client_id and redirect_uris/],
    ['a client of another flow', clientHost.publish([redirectUri], { grant_types: ['client_credentials'] }), /authorization_code/],
  ])('a client_id is refused: %s', async (_, client_id, problem) => {
    expectRefused(await open(browser, { client_id }), problem);
  });

  test('the document of a client is read once in five minutes', async () => {
    const client_id = clientHost.publish([redirectUri]);
    const path = new URL(client_id).pathname;
    for (let times = 0; times < 3; times++) expect((await open(browser, { client_id })).status).toBe(200);
    expect(clientHost.seen.filter(({ url }) => url === path)).toHaveLength(1);
    expect(clientHost.seen.at(-1)?.headers).not.toHaveProperty('cookie');
  });
});

test('a description that is never answered is given up', async () => {
  const host = await startUpstream(() => {});
  try {
    expectRefused(await open(browser, { client_id: `http://127.0.0.1:${host.port}/client.json` }), /cannot be read/);
  } finally {
    await host.stop();
  }
});

describe('redirect URIs', () => {
  test.each([
    'https://host.example/callback/',
    'https://host.example/callback?x=1',
    'https://host.example/callback#x',
    'https://host.example:443/callback',
    'https://HOST.example/callback',
    'http://host.example/callback',
    'https://host.example.evil.example/callback',
    'https://host.example@evil.example/callback',
    'https://host.example/./callback',
    'https://host.example/%63allback',
    'https://host.example/callback ',
    'https://host.example\\@evil.example/callback',
    'http://localhost:7778/callback',
    'http://127.0.0.1:5123/callback/',
    'http://127.0.0.1:5123/callback#x',
    'http://user@127.0.0.1:5123/callback',
    'http://127.0.0.1:80@evil.example/callback',
    'http://127.0.0.1.evil.example/callback',
    'http://127.0.0.2:5123/callback',
    'http://[::1]:5123/callback',
    'https://127.0.0.1:5123/callback',
    'http://127.0.0.1:99999/callback',
    'javascript:alert(1)',
    '//host.example/callback',
  ])('the redirect URI %s is refused, because it is compared character by character', async (redirect_uri) => {
    expectRefused(await open(browser, { redirect_uri }), /^The redirect_uri must be one of those/);
  });

  test('not even an error is sent to another redirect URI', async () => {
    const changes = { redirect_uri: 'https://host.example.evil.example/callback', response_type: 'token', prompt: 'none' };
    expectRefused(await open(browser, changes), /^The redirect_uri must be/);
  });

  test.each([redirectUri, 'http://127.0.0.1:5123/callback', 'http://localhost:7777/callback'])('%s is accepted', async (redirect_uri) => {
    expect((await open(browser, { redirect_uri })).text).toContain('Let Test host act for you?');
  });

  test('under localhost, any port will do for a client that has registered none', async () => {
    const client_id = clientHost.publish(['http://localhost/callback']);
    for (const redirect_uri of ['http://localhost/callback', 'http://localhost:53682/callback']) {
      expect((await open(browser, { client_id, redirect_uri })).text).toContain('Let Test host act for you?');
    }
    for (const redirect_uri of [
      'http://localhost:53682/callback/',
      'http://127.0.0.1:53682/callback',
      'http://localhost.evil.example/callback',
      'http://localhost:53682',
      'https://localhost:53682/callback',
      'http://localhost:99999/callback',
    ]) {
      expectRefused(await open(browser, { client_id, redirect_uri }), /^The redirect_uri must be/);
    }
  });

  test('redirect URIs that a client has registered but nobody may use are left out', async () => {
    const unusable = ['javascript:alert(1)', 'http://host.example/callback', 'https://user@host.example/callback', 'host:callback'];
    const client_id = clientHost.publish([redirectUri, ...unusable]);
    expect((await open(browser, { client_id })).status).toBe(200);
    for (const redirect_uri of unusable) expectRefused(await open(browser, { client_id, redirect_uri }), /^The redirect_uri must be/);
  });
});

// test/functions/sign-in/clients.test.ts takes those of all clients
test('a client signs in with the description that it publishes, and executes', async () => {
  const [client_name, { client_id: _, ...document }, [redirect_uri = '']] = published[0] as (typeof published)[number];
  const client_id = clientHost.publish([], document);
  expect((await open(browser, { client_id, redirect_uri })).text).toContain(`Let ${client_name} act for you?`);
  const executed = await api.execute(await obtainPat({ client_id, redirect_uri }), 'world.example:get-country:v1', { code: 'JP' });
  expect(executed).toMatchObject({ status: 200, body: { name: 'Japan' } });
});

test('the resource may be left out of both requests, or of one', async () => {
  const whole = `${base}/mcp/sign-in`;
  for (const [asked, exchanged] of [
    [null, null],
    [null, whole],
    [whole, null],
  ]) {
    const answer = answerOf(await decide(browser, stack, await open(browser, { resource: asked ?? null })));
    expect((await exchange(answer.code ?? '', { resource: exchanged ?? '' })).status).toBe(200);
  }
});

test.each([
  ['the root with the slash that clients put there', `${base}/`],
  ['a path with a slash at its end', `${base}/mcp/sign-in/`],
  ['a scheme in capitals', `${base.replace('http:', 'HTTP:')}/mcp`],
])('equivalent spellings of the gate as a resource are accepted: %s', async (_, resource) => {
  expect(await obtainPat({ resource })).toMatch(/^ey/);
});

test('the same resource may be named twice', async () => {
  const page = await browser.request(`${addressOf()}&resource=${encodeURIComponent(`${base}/mcp`)}`);
  expect(page.status).toBe(200);
});

describe('other invalid requests', () => {
  test.each<[string, Record<string, string | null>, string]>([
    ['an implicit grant', { response_type: 'token' }, 'unsupported_response_type'],
    ['no response type', { response_type: null }, 'invalid_request'],
    ['a challenge that is too long', { code_challenge: 'a'.repeat(129) }, 'invalid_request'],
    ['no PKCE', { code_challenge: null, code_challenge_method: null }, 'invalid_request'],
    ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['PKCE without a method, which would be plain', { code_challenge_method: null }, 'invalid_request'],
    ['a challenge that is no digest', { code_challenge: 'abc' }, 'invalid_request'],
    ['a resource with another scheme', { resource: `${base.replace('http:', 'https:')}/mcp` }, 'invalid_target'],
    ['the resource of another gate', { resource: 'https://other.example/mcp' }, 'invalid_target'],
    ['another prompt', { prompt: 'login' }, 'invalid_request'],
  ])('the client is told what is wrong with its request: %s', async (_, changes, error) => {
    const page = await open(browser, changes);
    expect([page.status, page.next?.startsWith(`${redirectUri}?`)]).toEqual([302, true]);
    expect(answerOf(page)).toEqual({ error, error_description: expect.any(String), state: 'state-of-the-host', iss: `${base}/oauth` });
  });

  test('the person is told what is wrong while it is not known who the client is', async () => {
    expectRefused(await openBrowser().request(addressOf({ code_challenge: null })), /code_challenge/);
    expectRefused(await openBrowser().request(addressOf({ client_id: 'some-client' })), /^The client_id must be/);
  });

  test.each(['client_id', 'redirect_uri', 'state'])('the person is told about a second %s', async (name) => {
    expectRefused(await browser.request(`${addressOf()}&${name}=x`), new RegExp(`^${name} must be given once`));
  });

  test.each(['resource', 'prompt', 'code_challenge'])('the client is told about a second %s', async (name) => {
    const page = await browser.request(`${addressOf({ prompt: 'consent' })}&${name}=x`);
    expect(answerOf(page)).toMatchObject({
      error: 'invalid_request',
      error_description: `${name} must be given once.`,
      state: 'state-of-the-host',
    });
  });
});

describe('who has not signed in', () => {
  test('a person who has not signed in causes no write, and no call of an address', async () => {
    await openBrowser().request(addressOf());
    database.operations.length = 0;
    const seen = clientHost.seen.length;
    for (const changes of [{}, { prompt: 'none' }, { client_id: clientHost.publish([redirectUri]) }, { code_challenge: '' }]) {
      await openBrowser().request(addressOf(changes));
    }
    expect({ operations: database.operations, calls: clientHost.seen.length - seen }).toEqual({ operations: [], calls: 0 });
  });

  test('a person who has not signed in is led to the user pool with a state and a challenge of the gate\u2019s own', async () => {
    const stranger = openBrowser();
    const { status, next = '' } = await stranger.request(addressOf());
    const { origin, pathname, searchParams } = new URL(next);
    expect([status, pathname]).toEqual([302, '/oauth2/authorize']);
    expect(origin).not.toBe(base);
    expect(Object.fromEntries(searchParams)).toEqual({
      response_type: 'code',
      client_id: expect.any(String),
      redirect_uri: `${base}/oauth/signed-in`,
      scope: 'openid',
      state: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
    expect(searchParams.get('code_challenge')).not.toBe(challenge);
  });

  test('a person who has not signed in is refused if the sign-in was begun in another browser, or is used again', async () => {
    const attacker = openBrowser();
    const begun = await attacker.request(addressOf());
    const form = readForm(await attacker.request(begun.next ?? ''));
    form.set('username', 'user');
    form.set('password', stack.user_password);
    const back = (await attacker.request(new URL('/oauth2/authorize', begun.next).href, form)).next ?? '';
    const victim = openBrowser();
    expectRefused(await victim.request(back), /started in another browser/);
    await victim.request(addressOf());
    expectRefused(await victim.request(back), /started in another browser/);
    expect((await attacker.request(back)).status).toBe(302);
    expectRefused(await attacker.request(back), /started in another browser/);
  });

  test('a person who has not signed in is refused if the user pool does not know the code', async () => {
    const stranger = openBrowser();
    const state = new URL((await stranger.request(addressOf())).next ?? '').searchParams.get('state');
    expectRefused(await stranger.request(`${base}/oauth/signed-in?code=made-up&state=${state}`), /did not confirm your sign-in/);
    expectRefused(await stranger.request(`${base}/oauth/signed-in?error=access_denied&state=${state}`), /did not sign you in/);
  });

  test('a person who has not signed in cannot have a program renewed in silence', async () => {
    expectRefused(await openBrowser().request(addressOf({ prompt: 'none' })), /has to sign in/);
    const page = await openBrowser().request(
      addressOf({ client_id: 'intent-gate-public', redirect_uri: 'http://127.0.0.1:5123/callback', prompt: 'none' }),
    );
    expect(answerOf(page)).toMatchObject({ error: 'login_required', state: 'state-of-the-host', iss: `${base}/oauth` });
  });
});

describe('prompt=none', () => {
  test('prompt=none renews while the policy is the one that was accepted', async () => {
    const client_id = clientHost.publish([redirectUri]);
    expect(answerOf(await open(browser, { client_id, prompt: 'none' }))).toMatchObject({ error: 'consent_required', iss: `${base}/oauth` });
    await decide(browser, stack, await open(browser, { client_id }));
    const silent = await open(browser, { client_id, prompt: 'none' });
    expect(silent.status).toBe(302);
    expect((await exchange(answerOf(silent).code ?? '', { client_id })).status).toBe(200);
  });

  test('prompt=none leads only to the address that the person was shown', async () => {
    const other = 'https://host.example/other';
    const client_id = clientHost.publish([redirectUri, other]);
    await decide(browser, stack, await open(browser, { client_id }));
    expect(answerOf(await open(browser, { client_id, prompt: 'none' }))).toMatchObject({ code: expect.any(String) });
    const page = await open(browser, { client_id, redirect_uri: other, prompt: 'none' });
    expect(page.next).toMatch(/^https:\/\/host\.example\/other\?/);
    expect(answerOf(page)).toMatchObject({ error: 'consent_required' });
  });

  test('prompt=none is not for programs on the machine of the person, which others may stand in for', async () => {
    const redirect_uri = 'http://127.0.0.1:5123/callback';
    await decide(browser, stack, await open(browser, { redirect_uri }));
    expect(answerOf(await open(browser, { redirect_uri, prompt: 'none' }))).toMatchObject({ error: 'consent_required' });
  });
});

describe('the form', () => {
  const accept = (from: TestBrowser, form: URLSearchParams) => from.request(`${base}/oauth/accept`, form);
  const formWith = async (changes: Record<string, string>) => {
    const form = readForm(await open(browser));
    form.set('decision', 'accept');
    for (const [name, value] of Object.entries(changes)) form.set(name, value);
    return form;
  };
  const forged = /^This form did not come from a page that you were shown/;

  test('the form with the policy does not count without the session, or in the session of somebody else', async () => {
    const form = await formWith({});
    expectRefused(await accept(openBrowser(), form), forged, 403);
    const other = openBrowser();
    await open(other);
    expectRefused(await accept(other, form), forged, 403);
    expect((await accept(browser, form)).status).toBe(200);
  });

  test.each(['client_id', 'redirect_uri', 'code_challenge', 'resource', 'state', 'policy', 'form_token', 'response_type', 'prompt'])(
    'the form with the policy does not count with another %s',
    async (name) => {
      expectRefused(await accept(browser, await formWith({ [name]: 'consent' })), forged, 403);
    },
  );

  test('the form with the policy does not count as JSON, or without a decision', async () => {
    const response = await fetch(`${base}/oauth/accept`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' });
    expect(response.status).toBe(400);
    expectRefused(await accept(browser, await formWith({ decision: 'perhaps' })), /decision must be one of/);
  });

  test('a cookie is not sent by other sites, read by scripts, or taken twice', async () => {
    const stranger = openBrowser();
    const { headers } = await stranger.request(addressOf());
    const rest = 'HttpOnly; SameSite=Lax; Max-Age=900$';
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(`^intent-gate-attempt-[\\w-]{8}=[^;]{1,200}; Path=/; ${rest}`),
      expect.stringMatching(`^intent-gate-request-[\\w-]{8}-1=[^;]+; Path=/oauth/signed-in; ${rest}`),
    ]);
    const { headers: long } = await openBrowser().request(addressOf({ state: 'X'.repeat(4_000) }));
    expect(long.getSetCookie()).toEqual([
      expect.stringMatching(`^intent-gate-attempt-[\\w-]{8}=[^;]{1,200}; Path=/; ${rest}`),
      expect.stringMatching(`^intent-gate-request-[\\w-]{8}-1=[^;]{3800}; Path=/oauth/signed-in; ${rest}`),
      expect.stringMatching(`^intent-gate-request-[\\w-]{8}-2=[^;]+; Path=/oauth/signed-in; ${rest}`),
    ]);
    const session = browser.cookiesOf(base).get('intent-gate-sign-in');
    const response = await fetch(addressOf(), {
      headers: { Cookie: `intent-gate-sign-in=${session}; intent-gate-sign-in=${session}` },
      redirect: 'manual',
    });
    expect(response.headers.get('location')).toContain('/oauth2/authorize?');
  });
});

describe('over https, in one process', () => {
  const address = 'https://api.example/test';
  const template = loadPolicyTemplate();
  const signIns = openSignIns(database.table);
  const clients = openClients(['http://127.0.0.1/callback'], async () => ({}));
  const userPool = openUserPool({ userPool: 'eu-west-1_Abc123', domain: 'https://pool.example', clientId: 'gate' });
  const authorizeWith = (policy = template, patLifeSeconds = 900, known = clients) =>
    createAuthorize({
      clients: known,
      signIns,
      userPool,
      findPolicy: openPolicy(policy),
      issueChecks: [],
      lifetimes: { patLifeSeconds, signInSeconds: 43_200 },
    });
  const query = {
    response_type: 'code',
    client_id: 'intent-gate-public',
    redirect_uri: 'http://127.0.0.1:5123/callback',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    resource: address,
  };
  const person = { subject: '1', userName: 'user' };
  /** The cookie of somebody who signed in so many hours ago. */
  const cookieOf = async (hours = 0, who = person) =>
    `__Host-intent-gate-sign-in=${await signIns.startSession(who, Date.now() - hours * 3_600_000, 43_200)}`;
  const finish = createFinish({ signIns, userPool: { finish: async () => person }, signInSeconds: 43_200 });
  /** What the cookies of an answer have the browser send, and the state of the attempt among them. */
  const remember = ({ cookies }: Awaited<ReturnType<typeof invoke>>) => {
    const remembered = (cookies ?? []).map((cookie) => String(cookie).split(';')[0] ?? '');
    return { remembered, state: /=state=([\w-]+)/.exec(remembered[0] ?? '')?.[1] ?? '' };
  };

  test('the cookies are for this host alone, and those with the request for one path', async () => {
    const short = await invoke(authorizeWith(), 'GET /oauth/authorize', { query });
    const main = expect.stringMatching(/^__Host-intent-gate-attempt-[\w-]{8}=.*; Path=\/; HttpOnly; SameSite=Lax; Max-Age=900; Secure$/);
    const part = (number: number) =>
      expect.stringMatching(
        `^__Secure-intent-gate-request-[\\w-]{8}-${number}=.*; Path=/oauth/signed-in; HttpOnly; SameSite=Lax; Max-Age=900; Secure$`,
      );
    expect(short.cookies).toEqual([main, part(1)]);
    const long = await invoke(authorizeWith(), 'GET /oauth/authorize', { query: { ...query, state: 'X'.repeat(4_000) } });
    expect(long.cookies).toEqual([main, part(1), part(2)]);
    const { remembered, state } = remember(long);
    const comeBack = (Cookie: string) => invoke(finish, 'GET /oauth/signed-in', { query: { code: 'c', state }, headers: { Cookie } });
    const all = remembered.join('; ');
    const back = await comeBack(all);
    expect(back).toMatchObject({
      status: 302,
      headers: { Location: expect.stringContaining(`${address}/oauth/authorize?response_type=code&`) },
    });
    expect(back.cookies).toEqual([
      expect.stringMatching(/^__Host-intent-gate-sign-in=[\w-]{43}; .*; Max-Age=43200; Secure$/),
      expect.stringMatching(/^__Host-intent-gate-attempt-[\w-]{8}=; Path=\/; .*; Max-Age=0; Secure$/),
      expect.stringMatching(/^__Secure-intent-gate-request-[\w-]{8}-1=; Path=\/oauth\/signed-in; .*; Max-Age=0; Secure$/),
      expect.stringMatching(/^__Secure-intent-gate-request-[\w-]{8}-2=; Path=\/oauth\/signed-in; .*; Max-Age=0; Secure$/),
    ]);
    expect((await comeBack(all.replace('__Host-', ''))).status).toBe(400);
    expect((await comeBack(remembered[0] ?? '')).status).toBe(400);
  });

  test.each<[string, () => Promise<string>, boolean]>([
    ['the same person', () => cookieOf(), true],
    ['somebody else', () => cookieOf(0, { subject: '2', userName: 'user' }), false],
    ['the same person that has ended', () => cookieOf(12), false],
    ['nobody', async () => `__Host-intent-gate-sign-in=${'a'.repeat(43)}`, false],
  ])('a sign-in in a browser with a session of %s keeps it only if it is live and their own', async (_, planted, isKept) => {
    const { remembered, state } = remember(await invoke(authorizeWith(), 'GET /oauth/authorize', { query }));
    const earlier = await planted();
    const back = await invoke(finish, 'GET /oauth/signed-in', {
      query: { code: 'c', state },
      headers: { Cookie: [...remembered, earlier].join('; ') },
    });
    expect(back.status).toBe(302);
    const set = (back.cookies ?? []).filter((cookie) => /^__Host-intent-gate-sign-in=/.test(String(cookie)));
    expect(set).toEqual(isKept ? [] : [expect.not.stringContaining(earlier)]);
  });

  test.each([
    [90, '90 seconds'],
    [60, '1 minute'],
    [5_400, '90 minutes'],
    [7_200, '2 hours'],
  ])('a PAT of %s seconds is one for %s', async (seconds, words) => {
    const page = await invoke(authorizeWith(template, seconds), 'GET /oauth/authorize', { query, headers: { Cookie: await cookieOf() } });
    expect(String(page.body)).toContain(`<p>For 12 hours. The program gets a pass for ${words} at a time`);
  });

  test('a session ends after twelve hours', async () => {
    const { status } = await invoke(authorizeWith(), 'GET /oauth/authorize', { query, headers: { Cookie: await cookieOf(12) } });
    expect(status).toBe(302);
  });

  test.each([
    [0, { status: 302, headers: { Location: expect.stringMatching(/^https:\/\/host\.example\/callback\?code=[\w-]{43}&/) } }],
    [12, { status: 400, body: expect.stringContaining('The person has to sign in. Send the request again without prompt=none.') }],
  ])('what has been accepted is renewed in silence while the session lasts: after %i hours', async (hours, answered) => {
    const [client_id, redirect_uri] = ['https://host.example/client.json', 'https://host.example/callback'];
    const findPolicy = openPolicy(template);
    const grant = { person, clientId: client_id, redirectUri: redirect_uri, codeChallenge: challenge, resource: address };
    await signIns.rememberConsent({ ...grant, policy: findPolicy(address).reference }, Date.now());
    const described = openClients([], async () => ({ client_id, redirect_uris: [redirect_uri] }));
    const answer = await invoke(authorizeWith(template, 900, described), 'GET /oauth/authorize', {
      query: { ...query, client_id, redirect_uri, prompt: 'none' },
      headers: { Cookie: await cookieOf(hours) },
    });
    expect(answer).toMatchObject(answered);
  });

  test('a policy that has changed since the page was shown is shown first', async () => {
    const Cookie = await cookieOf();
    const page = await invoke(authorizeWith(), 'GET /oauth/authorize', { query, headers: { Cookie } });
    expect(page.body).toContain('a pass for 15 minutes at a time');
    const form = readForm({ text: page.body } as Page);
    form.set('decision', 'accept');
    const accept = (policy: typeof template) =>
      invoke(createAccept({ clients, signIns, findPolicy: openPolicy(policy) }), 'POST /oauth/accept', {
        headers: { Cookie, 'Content-Type': 'application/x-www-form-urlencoded' },
        body: form.toString(),
      });
    const changed = await accept({ ...template, uid: `${template.uid}/next` });
    expect(changed).toMatchObject({
      status: 303,
      headers: { Location: expect.stringMatching(/\/oauth\/authorize\?response_type=code&client_id=intent-gate-public&/) },
    });
    expect((await accept(template)).headers.Refresh).toMatch(/^0;url=http:\/\/127\.0\.0\.1:5123\/callback\?code=/);
  });

  test('a request that no cookies can hold is refused', async () => {
    const { status, headers } = await invoke(authorizeWith(), 'GET /oauth/authorize', {
      query: { ...query, redirect_uri: `http://127.0.0.1:5123/callback`, state: '\u00fc'.repeat(4_000) },
    });
    expect([status, headers.Location]).toEqual([302, expect.stringContaining('error=invalid_request')]);
  });
});

describe('attempts to sign in that one browser makes at the same time', () => {
  const states = Array.from({ length: 6 }, (_, at) => `program-${at}`);
  /** Where the user pool sends the person back to, after each of these authorization requests has led there. */
  async function signInTo(stranger: TestBrowser, given: readonly string[]): Promise<string[]> {
    const led = [];
    for (const state of given) led.push((await stranger.request(addressOf({ state }))).next ?? '');
    const backs = [];
    for (const address of led) {
      const form = readForm(await stranger.request(address));
      form.set('username', 'user');
      form.set('password', stack.user_password);
      backs.push((await stranger.request(new URL('/oauth2/authorize', address).href, form)).next ?? '');
    }
    return backs;
  }
  const ends = async (stranger: TestBrowser, backs: readonly string[]) =>
    Promise.all(backs.map(async (back) => new URL((await stranger.request(back)).next ?? 'about:blank').searchParams.get('state')));

  test('up to four attempts to sign in end where their programs wait, in any order; then earlier ones make room', async () => {
    const stranger = openBrowser();
    const backs = await signInTo(stranger, states.slice(0, 4));
    expect(await ends(stranger, backs.toReversed())).toEqual(states.slice(0, 4).toReversed());
    expect([...stranger.cookiesOf(base).keys()]).toEqual(['intent-gate-sign-in']);
    const other = openBrowser();
    expect(await ends(other, await signInTo(other, states))).toEqual([null, null, null, null, ...states.slice(4)]);
  });

  test('a page with the policy still counts after the same person has signed in for another program', async () => {
    const stranger = openBrowser();
    const pages = [];
    for (const back of await signInTo(stranger, states.slice(0, 2)))
      pages.push(await stranger.request((await stranger.request(back)).next ?? ''));
    for (const [at, page] of pages.entries())
      expect(answerOf(await decide(stranger, stack, page))).toMatchObject({ code: expect.any(String), state: states[at] });
  });

  test('an attempt to sign in whose request is long ends earlier ones, and is ended by the next, so that cookies fit into headers', async () => {
    const stranger = openBrowser();
    const long = 'X'.repeat(4_096);
    expect(await ends(stranger, await signInTo(stranger, ['a', long, 'b']))).toEqual([null, null, 'b']);
  });
});

describe('state', () => {
  const printable = String.fromCharCode(...Array.from({ length: 95 }, (_, at) => at + 32));
  const cases: [title: string, state: string][] = [
    ['1,500 letters', 'X'.repeat(1_500)],
    ['4,096 letters', 'X'.repeat(4_096)],
    ['4,096 characters of base64', 'n+eBY2DPiNEk3xEe7rqmtg=='.repeat(171).slice(0, 4_096)],
    ['a JSON web token', `${'ey.'.repeat(900)}-_~`],
    ['every printable character', printable],
    ['the punctuation of cookies', ' ;,"\\=%3B; intent-gate-request-2=x'],
    ['the punctuation of queries', '&code=x&iss=y#z+%2B%26'],
    ['4,096 characters of JSON', JSON.stringify(Array(700).fill('abc')).slice(0, 4_096)],
    ['3,000 semicolons', ';'.repeat(3_000)],
    ['1,500 letters that need two bytes', '\u00fc'.repeat(1_500)],
    ['JSON with spaces', JSON.stringify({ user: 'ä', path: '/a b', list: [1, 2] }, null, 2).replaceAll('\n', '')],
    ['a letter that needs two code units', '\u{1f512}\u{1f512}'],
  ];
  test.each(cases)('a state of %s comes back to the letter', async (_, state) => {
    const stranger = openBrowser();
    expect(answerOf(await decide(stranger, stack, await open(stranger, { state }))).state).toBe(state);
    // while signed in, and in a browser that began an attempt which it did not finish
    expect(answerOf(await open(stranger, { state, resource: 'https://other.example/mcp' })).state).toBe(state);
    const again = openBrowser();
    await again.request(addressOf({ state: 'Y'.repeat(4_096) }));
    await again.request(addressOf({ state }));
    expect(answerOf(await decide(again, stack, await open(again, { state }))).state).toBe(state);
  });

  test('a state of more than 4,096 characters is refused', async () => {
    expectRefused(await browser.request(addressOf({ state: 'X'.repeat(4_097) })), /^state must have at most 4096 characters/);
  });
});
