import { afterAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createAction as createStatus } from '../../../functions/connections/get-service-connections.ts';
import { createAction as createTest } from '../../../functions/connections/test-service-credential.ts';
import { recheckAfterMs } from '../../../functions/core/execution/block-check.ts';
import { createAction as createDelete } from '../../../functions/delete-service-credential.ts';
import { createAction as createPut } from '../../../functions/put-service-credential.ts';
import { credentialTest, serviceConnections } from '../../../schemas/connections/connections.ts';
import { toCredentialFacts } from '../../../schemas/credential.ts';
import { startIssuer } from '../../support/connections/issuer.ts';
import { openPages } from '../../support/connections/pages.ts';
import { openConnectionParts } from '../../support/connections/parts.ts';
import { baseUrl, startGate } from '../../support/gate.ts';
import { byAdmin, invoke, refusalOf } from '../../support/invoke.ts';
import { skipOutwaiting } from '../../support/let-pass.ts';
import { refusals } from '../../support/registry.ts';

// What admins see and do: clients, the state of their tokens, never a token.

const issuer = await startIssuer();
const gate = await startGate();
afterAll(() => Promise.all([gate.stop(), issuer.stop()]));
const { services, credentials } = gate;
const parts = openConnectionParts(gate);
const pages = openPages(gate, parts);
const origin = 'https://world.example';
const usual = { ...issuer.behaviour };
beforeEach(() => {
  jest.restoreAllMocks();
  skipOutwaiting();
  Object.assign(issuer.behaviour, { before: undefined, after: undefined }, usual);
  issuer.grants.length = 0;
});

const client = (more: object = {}) => ({
  issuer: issuer.issuer,
  client_id: 'gate',
  client_secret: issuer.clientSecret,
  grant: 'person',
  scopes: ['read'],
  ...more,
});
const { connections, issuers } = parts;
const status = (service_id: string) =>
  invoke(byAdmin(createStatus({ services, connections })), 'GET /api/services/{service_id}/connections', { path: { service_id } });
const tryClient = (service_id: string) =>
  invoke(byAdmin(createTest({ services, credentials, issuers })), 'POST /api/services/{service_id}/credential/test', {
    path: { service_id },
  });
const redirect_uri = (id: string) => `${baseUrl}/connect/${id}/callback`;

describe('a client', () => {
  test('is set, shown without its secret, and removed', async () => {
    const { serviceId } = await parts.newService(origin, client(), { query: { tenant: 'harbour-4711' } });
    const shown = { headers: ['Authorization'], query: ['tenant'], origins: [origin] };
    const { client_secret: _, ...oauth } = client();
    const stored = (await services.find(serviceId))?.credential;
    expect(stored && toCredentialFacts(stored)).toMatchObject({ ...shown, oauth });
    const { status: code, body } = await parts.putCredential(serviceId, { oauth: client(), origins: [origin] });
    expect({ code, body }).toEqual({ code: 200, body: { service_id: serviceId, ...shown, query: [], oauth } });
    expect(JSON.stringify([stored, body])).not.toContain('canary');
    const deletion = byAdmin(createDelete({ services, credentials }));
    expect(await invoke(deletion, 'DELETE /api/services/{service_id}/credential', { path: { service_id: serviceId } })).toMatchObject({
      status: 204,
    });
    // it waits until calls that have read the credential have been sent, or read again
    expect(setTimeout).toHaveBeenLastCalledWith(expect.any(Function), recheckAfterMs + 100);
    expect(refusalOf(await status(serviceId))).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });

  test.each(['a fixed credential', 'nothing'])(
    'is removed with the same wait if another admin has put %s in its place meanwhile',
    async (what) => {
      const { serviceId } = await parts.newService(origin, client());
      const facts = { headers: ['X-Key'], query: [], origins: [origin], version: '1', set_at: 0 };
      let isFirst = true;
      const overtaken = async () => {
        if (isFirst) await services.setCredential(serviceId, what === 'nothing' ? undefined : facts, () => true);
        isFirst = false;
      };
      const deletion = byAdmin(createDelete({ services, credentials: { remove: overtaken } }));
      const answer = await invoke(deletion, 'DELETE /api/services/{service_id}/credential', { path: { service_id: serviceId } });
      expect(answer).toMatchObject({ status: 204 });
      expect(setTimeout).toHaveBeenLastCalledWith(expect.any(Function), recheckAfterMs + 100);
    },
  );

  test('is replaced with the same wait if another admin has set it only meanwhile', async () => {
    const { serviceId } = await parts.newService(origin, client());
    const facts = { headers: ['X-Key'], query: [], origins: [origin], version: '1', set_at: 0 };
    const stored = (await services.find(serviceId))?.credential;
    await services.setCredential(serviceId, facts, () => true);
    const add = async () => {
      await services.setCredential(serviceId, stored, () => true);
      return { version: '2' };
    };
    const put = byAdmin(
      createPut({ services, credentials: { ...credentials, add }, egress: { ports: [443], allowLoopback: true, ownHosts: [] } }),
    );
    const body = { headers: { 'X-Key': 'a fixed value' }, origins: [origin] };
    const answer = await invoke(put, 'PUT /api/services/{service_id}/credential', { path: { service_id: serviceId }, body });
    expect(answer).toMatchObject({ status: 200 });
    expect(setTimeout).toHaveBeenLastCalledWith(expect.any(Function), recheckAfterMs + 100);
  });

  test('is not said to be removed by a second deletion, which finds nothing, before calls no longer carry its token', async () => {
    const { serviceId } = await parts.newService(origin, client());
    await services.setCredential(serviceId, undefined, () => true);
    const answer = await invoke(byAdmin(createDelete({ services, credentials })), 'DELETE /api/services/{service_id}/credential', {
      path: { service_id: serviceId },
    });
    expect(answer).toMatchObject({ status: 204 });
    expect(setTimeout).toHaveBeenLastCalledWith(expect.any(Function), recheckAfterMs + 100);
  });

  const wrong: [name: string, body: object, path: string, problem: string][] = [
    ['no issuer and no endpoint', { oauth: client({ issuer: undefined }) }, '/oauth', 'must have issuer or token_endpoint'],
    [
      'one endpoint of two',
      { oauth: client({ token_endpoint: 'https://id.example/token' }) },
      '/oauth',
      'must have both endpoints or none, because people agree at authorization_endpoint',
    ],
    ['another grant', { oauth: client({ grant: 'password' }) }, '/oauth/grant', ''],
    ['a query', { oauth: client({ issuer: 'https://id.example.com/?p=x' }) }, '/oauth/issuer', 'must have neither a query nor a fragment'],
    ['an address that is none', { oauth: client({ issuer: 'file:///etc/passwd' }) }, '/oauth/issuer', ''],
    ['a scope with a space', { oauth: client({ scopes: ['a b'] }) }, '/oauth/scopes/0', ''],
    [
      'a fixed Authorization',
      { oauth: client(), headers: { authorization: 'Bearer x' } },
      '/oauth',
      'must not be given with next, header_name or Authorization',
    ],
    [
      'next values',
      { oauth: client(), next: { headers: { 'X-Key': 'k' } } },
      '/oauth',
      'must not be given with next, header_name or Authorization',
    ],
    ['an unknown member', { oauth: client({ password: 'canary' }) }, '/oauth', ''],
  ];
  test.each(wrong)('with %s is refused', async (_, body, path, problem) => {
    const { serviceId } = await parts.newService(origin, client());
    const refusal = refusalOf(await parts.putCredential(serviceId, { origins: [origin], ...body }));
    expect(refusal).toMatchObject({ status: 400, code: 'INVALID_PARAMETER' });
    expect(refusal.details.issues).toContainEqual({ path: expect.stringContaining(path), problem: expect.stringContaining(problem) });
  });

  const strict = { ports: [443, 8443], allowLoopback: false, ownHosts: [] };
  const endpoints = { authorization_endpoint: 'https://id.example.com/agree', token_endpoint: 'https://id.example.com/token' };
  const given = (issuer: object) => ({ oauth: { client_id: 'gate', grant: 'person', ...issuer }, origins: [origin] });
  const [https, domain] = [
    'must begin with https://',
    'must name its host by a full public domain name, not by an address or a local name',
  ];
  test.each<[name: string, issuer: object, path: string, problem: string]>([
    ['over http', { issuer: 'http://id.example.com/realms/a' }, '/oauth/issuer', https],
    ['with a user', { issuer: 'https://user:word@id.example.com' }, '/oauth/issuer', 'must not contain user information'],
    ['at a private address', { issuer: 'https://10.0.0.1/' }, '/oauth/issuer', domain],
    ['at a local name', { issuer: 'https://localhost' }, '/oauth/issuer', domain],
    ['at another port', { issuer: 'https://id.example.com:444' }, '/oauth/issuer', 'must use port 443 or 8443'],
    ['that is the gate itself', { issuer: 'https://api.example/oauth' }, '/oauth/issuer', 'must not lead back to this gate'],
    ['at a private origin', { issuer: 'https://private.example.com/a' }, '/oauth/issuer', 'must not be at a private origin'],
    ['whose page is over http', { ...endpoints, authorization_endpoint: 'http://id.example.com' }, '/oauth/authorization_endpoint', https],
    [
      'whose tokens are at a private origin',
      { ...endpoints, token_endpoint: 'https://10.0.0.1:8443/token' },
      '/oauth/token_endpoint',
      'must not be at a private origin',
    ],
    [
      'whose tokens are at the address of metadata',
      { ...endpoints, grant: 'client', token_endpoint: 'http://169.254.169.254/' },
      '/oauth/token_endpoint',
      https,
    ],
  ])('with an issuer %s is refused', async (_, issuer, path, problem) => {
    const { serviceId } = await parts.newService(origin, client());
    const egress = { ...strict, privateOrigins: ['https://private.example.com', 'https://10.0.0.1:8443'] };
    expect(refusalOf(await parts.putCredential(serviceId, given(issuer), egress))).toEqual(refusals.invalid([path, problem]));
  });

  test('may have the http address of a local upstream', async () => {
    const { serviceId } = await parts.newService(origin, client());
    const egress = { ...strict, localUpstreams: ['identity'] };
    expect(await parts.putCredential(serviceId, given({ issuer: 'http://identity:8080' }), egress)).toMatchObject({ status: 200 });
  });
});

describe('the state of the tokens of a service', () => {
  test('counts the people who are connected, and has the last words of the issuer', async () => {
    const { serviceId } = await parts.newService(origin, client());
    expect((await status(serviceId)).body).toEqual({
      service_id: serviceId,
      grant: 'person',
      people: 0,
      redirect_uri: redirect_uri(serviceId),
    });
    for (const person of ['one', 'two', 'one']) await pages.connect(serviceId, await pages.signIn(person));
    issuer.forgetRefreshTokens();
    const later = parts.openTokens({ now: () => Date.now() + 3_600_000 });
    await expect(parts.obtain(later, serviceId, 'one')).rejects.toMatchObject({ details: { reason: 'connect' } });
    const { body } = await status(serviceId);
    expect(serviceConnections.parse(body)).toEqual(body);
    expect(body).toMatchObject({
      people: 2,
      failure: { error: 'invalid_grant', description: 'The refresh token [credential] is not known' },
    });
    expect(JSON.stringify(body)).not.toContain('canary');
  });

  test('has no secret that the issuer repeats, even as the header field that carried it', async () => {
    const { serviceId } = await parts.newService(origin, client({ grant: 'client' }));
    const basic = Buffer.from(`gate:${issuer.clientSecret.replaceAll('-', '%2D')}`).toString('base64');
    issuer.behaviour.before = () => ({ status: 400, body: { error: 'invalid_request', error_description: `Basic ${basic}` } });
    const { body } = await tryClient(serviceId);
    expect(body).toMatchObject({ ok: false, error: 'invalid_request', description: expect.stringContaining('[credential]') });
    expect(body.description).not.toContain(basic.slice(10, 40));
  });

  test('says when the token of the gate itself is renewed', async () => {
    const { serviceId } = await parts.newService(origin, client({ grant: 'client' }));
    await parts.obtain(undefined, serviceId);
    const { body } = await status(serviceId);
    expect(serviceConnections.parse(body)).toEqual(body);
    expect(Date.parse(body.renew_at) - Date.parse(body.renewed_at)).toBeCloseTo(3_540_000, -2);
  });
});

describe('the test of a credential', () => {
  const endpoints = { token_endpoint: `${issuer.origin}/token`, revocation_endpoint: `${issuer.origin}/revoke` };
  const cases: [name: string, client: () => object, behave: object, answer: (id: string) => object][] = [
    [
      'obtains a token for the gate and revokes it',
      () => client({ grant: 'client' }),
      {},
      () => ({ grant: 'client', ok: true, ...endpoints, expires_in: 3_600 }),
    ],
    [
      'revokes the token of a client that authenticates in the body',
      () => client({ grant: 'client' }),
      { authentication: 'post' },
      () => ({ grant: 'client', ok: true, ...endpoints, expires_in: 3_600 }),
    ],
    [
      'has the words of the issuer',
      () => client({ grant: 'client', client_secret: 'canary-of-another' }),
      {},
      () => ({ grant: 'client', ok: false, error: 'invalid_client', description: 'Client authentication failed' }),
    ],
    [
      'finds out whether the issuer knows the client of people',
      () => client(),
      {},
      (id) => ({
        grant: 'person',
        ok: true,
        ...endpoints,
        authorization_endpoint: `${issuer.origin}/authorize`,
        redirect_uri: redirect_uri(id),
      }),
    ],
    [
      'finds out that it does not',
      () => client({ client_secret: 'canary-of-another' }),
      {},
      () => ({ grant: 'person', ok: false, error: 'invalid_client', description: 'Client authentication failed' }),
    ],
    [
      'finds out that there is no metadata',
      () => client({ issuer: `${issuer.origin}/elsewhere` }),
      { discovery: 'none' },
      () => ({ grant: 'person', ok: false, description: 'The metadata of the issuer cannot be read.' }),
    ],
  ];
  test.each(cases)('%s', async (_, given, behave, answer) => {
    Object.assign(issuer.behaviour, behave);
    const { serviceId } = await parts.newService(origin, given());
    issuer.revoked.length = 0;
    const { status: code, body } = await tryClient(serviceId);
    expect(credentialTest.parse(body)).toEqual(body);
    expect({ code, body }).toEqual({ code: 200, body: { service_id: serviceId, ...answer(serviceId) } });
    expect(JSON.stringify(body)).not.toContain('canary');
    expect(issuer.revoked).toHaveLength(body.expires_in ? 1 : 0);
  });

  test('is refused without a client', async () => {
    const { serviceId } = await parts.newService(origin, client());
    await parts.putCredential(serviceId, { header_name: 'X-Key', header_value: 'fixed-value', origins: [origin] });
    expect(refusalOf(await tryClient(serviceId))).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });
});
