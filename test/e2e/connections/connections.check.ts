import { afterAll, expect, test } from '@jest/globals';
import { startIssuer } from '../../support/connections/issuer.ts';
import { openAuthorization, openBrowser, readForm } from '../../support/sign-in/sign-in.ts';
import { startUpstream } from '../../support/upstream.ts';
import { bodyOf, startApi } from '../api.ts';

// The functions as they are deployed: bundles, roles' environments, a real browser session.

const issuer = await startIssuer();
const upstream = await startUpstream(({ headers }, response) => {
  const body = JSON.stringify({ name: issuer.holderOf(headers.authorization) ?? 'nobody' });
  response.setHeader('content-type', 'application/json').end(body);
});
const api = await startApi();
afterAll(() => Promise.all([issuer.stop(), upstream.stop()]));
const { stack } = api;
const origin = `http://127.0.0.1:${upstream.port}`;

async function newService(grant: string): Promise<{ id: string; uid: string }> {
  const id = await api.createService();
  const oauth = { issuer: issuer.issuer, client_id: 'gate', client_secret: issuer.clientSecret, grant };
  expect(await api.asAdmin('PUT', `/api/services/${id}/credential`, { oauth, origins: [origin] })).toMatchObject({ status: 200 });
  const uid = `connected.example:look-${grant}:v1`;
  const endpoint = { url: `${origin}/places`, method: 'GET' };
  const texts = { intent_name: `Look up ${grant}`, description: 'Looks up' };
  bodyOf(
    await api.asAdmin('POST', `/api/services/${id}/intents`, {
      ...texts,
      intent_uid: uid,
      endpoint,
      input_parameters: [],
      output_parameters: [],
    }),
    201,
  );
  return { id, uid };
}

test('a call carries the token that the gate has obtained for itself, and an admin tries the client', async () => {
  const { id, uid } = await newService('client');
  const pat = await api.obtainPat();
  for (let times = 0; times < 3; times++) expect(await api.execute(pat, uid, {})).toMatchObject({ status: 200, body: { name: 'gate' } });
  expect(issuer.grants).toEqual(['client_credentials']);
  expect(await api.asAdmin('POST', `/api/services/${id}/credential/test`)).toMatchObject({ status: 200, body: { ok: true } });
  expect(await api.asAdmin('GET', `/api/services/${id}/connections`)).toMatchObject({
    status: 200,
    body: { renew_at: expect.any(String) },
  });
});

test('a person signs in, connects, sees the connection, and ends it', async () => {
  const { id, uid } = await newService('person');
  expect(await api.execute(await api.obtainPat(), uid, {})).toMatchObject({
    status: 403,
    body: { error: { details: { reason: 'person_required' } } },
  });
  const browser = openBrowser();
  const address = `${stack.base_url}/connect/${id}`;
  const page = await openAuthorization(browser, stack, address);
  expect(page).toMatchObject({ status: 200, text: expect.stringContaining('Signed in as') });
  const leading = await browser.request(address, readForm(page));
  const agreed = await fetch(String(leading.next), { redirect: 'manual' });
  const last = await browser.request(String(agreed.headers.get('location')));
  expect(last).toMatchObject({ status: 200, text: expect.stringContaining('You are connected to') });

  const asPerson = (method: string, path: string) => api.call(method, path, { token: stack.user_token });
  expect(await asPerson('GET', '/api/connections')).toMatchObject({
    status: 200,
    body: { connections: [{ service_id: id, state: 'connected' }] },
  });
  expect(await api.asAdmin('GET', `/api/services/${id}/connections`)).toMatchObject({ status: 200, body: { people: 1 } });
  issuer.revoked.length = 0;
  expect(await asPerson('DELETE', `/api/connections/${id}`)).toMatchObject({ status: 204 });
  expect(issuer.revoked).toHaveLength(1);
  expect(await asPerson('GET', '/api/connections')).toMatchObject({ status: 200, body: { connections: [] } });
  expect(await api.call('GET', '/api/connections', {})).toMatchObject({ status: 401, body: { error: { code: 'UNAUTHORIZED' } } });
});
