import { describe, expect, test } from '@jest/globals';
import { openClients } from '../../../functions/sign-in/clients.ts';
import { createAction } from '../../../functions/sign-in/register-client.ts';
import { registrationResponse, tokenRefusal } from '../../../schemas/sign-in/sign-in.ts';
import { baseUrl } from '../../support/gate.ts';
import { invoke } from '../../support/invoke.ts';

const register = (body: unknown) =>
  invoke(createAction(), 'POST /oauth/register', { headers: { 'Content-Type': 'application/json' }, body });

const unread = async () => {
  throw new Error('no document is read');
};
const clients = openClients(['http://127.0.0.1/callback'], unread);
const loopback = 'http://127.0.0.1:3334/oauth/callback';

test('a program on the machine of a person gets an id that contains the registration', async () => {
  const redirect_uris = [loopback, 'http://localhost:3334/callback', 'http://[::1]/callback'];
  const { status, body, headers } = await register({
    client_name: 'My inspector',
    redirect_uris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'client_secret_post',
    scope: 'ignored',
    software_id: 'ignored',
  });
  expect(status).toBe(201);
  expect(headers).toMatchObject({ 'Cache-Control': 'no-store', Pragma: 'no-cache' });
  expect(registrationResponse.parse(body)).toEqual({
    client_id: expect.stringMatching(/^local\.[\w-]+$/),
    client_name: 'My inspector',
    redirect_uris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  });
  const found = {
    clientId: body.client_id,
    name: 'a program on your machine that calls itself \u201cMy inspector\u201d',
    redirectUris: redirect_uris,
  };
  expect(clients.findRegistered(body.client_id)).toEqual(found);
  expect(await clients.find(body.client_id, baseUrl)).toEqual(found);
  // the same registration gets the same id
  expect((await register({ client_name: 'My inspector', redirect_uris })).body.client_id).toBe(body.client_id);
});

test.each([undefined, null, 'x'.repeat(61), 'Ac\u202eme', 'Claude\u201d, verified by \u201cAnthropic'])(
  'a program called %j gets a general name',
  async (client_name) => {
    const { body } = await register({ client_name, redirect_uris: ['http://LOCALHOST/'], grant_types: null, scope: null });
    expect(body.client_name).toBe('a program');
  },
);

describe('refused registrations', () => {
  const public_ = /^Only programs on the person's own computer can register here/;
  const shape = /^The registration must have 1 to 5 redirect_uris/;
  test.each<[string, unknown, string, RegExp]>([
    ['a public redirect', { redirect_uris: ['https://host.example/callback'] }, 'invalid_redirect_uri', public_],
    ['a script', { redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri', public_],
    ['a host that looks local', { redirect_uris: ['http://127.0.0.1.evil.example/callback'] }, 'invalid_redirect_uri', public_],
    ['a host behind user information', { redirect_uris: ['http://127.0.0.1:80@evil.example/'] }, 'invalid_redirect_uri', public_],
    ['a fragment', { redirect_uris: [`${loopback}#x`] }, 'invalid_redirect_uri', public_],
    ['10,000 redirects', { redirect_uris: Array(10_000).fill('http://[::1]/') }, 'invalid_client_metadata', shape],
    ['no redirect', { redirect_uris: [] }, 'invalid_client_metadata', shape],
    ['a redirect that is no text', { redirect_uris: [1] }, 'invalid_client_metadata', shape],
    ['a long redirect', { redirect_uris: [`${loopback}?${'x'.repeat(200)}`] }, 'invalid_client_metadata', shape],
    ['long ones together', { redirect_uris: Array(5).fill(`${loopback}?${'x'.repeat(150)}`) }, 'invalid_client_metadata', /too long/],
    ['another flow', { redirect_uris: [loopback], grant_types: ['implicit'] }, 'invalid_client_metadata', shape],
    ['no JSON', '{', 'invalid_request', /^The body is not JSON: at line 1, column 2/],
  ])('a registration with %s is refused', async (_, body, error, description) => {
    const answer = await register(body);
    expect(tokenRefusal.parse(answer.body)).toEqual({ error, error_description: expect.stringMatching(description) });
    expect([answer.status, answer.headers['Cache-Control']]).toEqual([400, 'no-store']);
  });
});

describe('unknown ids', () => {
  const encode = (content: unknown) => `local.${Buffer.from(JSON.stringify(content)).toString('base64url')}`;
  test.each([
    'local.',
    'local.!!!!',
    `local.${'A'.repeat(900)}`,
    encode([]),
    encode(['a program']),
    encode([1, loopback]),
    encode(['a program', 1]),
    encode(['a program', 'javascript:alert(1)']),
    encode(['Ac\u202eme', loopback]),
    `${encode(['a program', loopback])}=`,
    `local.${Buffer.from(` ${JSON.stringify(['a program', loopback])}`).toString('base64url')}`,
  ])('the unregistered id %s finds no client', async (clientId) => {
    expect(() => clients.findRegistered(clientId)).toThrow(/^The client_id must be/);
    await expect(clients.find(clientId, baseUrl)).rejects.toMatchObject({
      code: 'invalid_client',
      message: expect.stringMatching(/^The client_id must be intent-gate-public, one that \/oauth\/register returned/),
    });
  });
});
