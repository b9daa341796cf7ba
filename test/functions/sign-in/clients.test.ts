import { describe, expect, test } from '@jest/globals';
import { openBoundReads } from '../../../functions/core/pat/document-reads.ts';
import { openClients } from '../../../functions/sign-in/clients.ts';
import { matchesRedirectUri } from '../../../functions/sign-in/redirect-uri.ts';
import { parseSettings } from '../../../lib/settings.ts';
import { baseUrl } from '../../support/gate.ts';
import { published } from '../../support/sign-in/client-documents.ts';
import { openMemoryTable } from '../../world/memory-table.ts';

const find = (document: Record<string, unknown> & { client_id: string }) =>
  openClients([], async () => JSON.parse(JSON.stringify(document))).find(document.client_id, baseUrl);

test.each(published)('the published description of %s is accepted, with the addresses that it uses', async (name, document, redirects) => {
  const client = await find(document);
  expect(client).toMatchObject({ name, host: new URL(document.client_id).host });
  for (const asked of redirects) {
    expect([asked, client.redirectUris.some((registered) => matchesRedirectUri(registered, asked))]).toEqual([asked, true]);
  }
});

describe('a description must allow the client to work without a secret', () => {
  const [, document] = published[0] as (typeof published)[number];
  test.each<[unknown, unknown, boolean]>([
    [undefined, undefined, true],
    ['none', undefined, true],
    ['private_key_jwt', ['private_key_jwt', 'none'], true],
    [undefined, ['none'], true],
    [null, null, true],
    ['private_key_jwt', undefined, false],
    [undefined, ['private_key_jwt'], false],
    ['private_key_jwt', 'none', false],
  ])(
    'the method %j, supported %j, is accepted: %j',
    async (token_endpoint_auth_method, token_endpoint_auth_methods_supported, isAccepted) => {
      const found = find({ ...document, token_endpoint_auth_method, token_endpoint_auth_methods_supported });
      if (isAccepted) await expect(found).resolves.toMatchObject({ name: 'Claude' });
      else await expect(found).rejects.toMatchObject({ code: 'invalid_client', message: expect.stringContaining('without a secret') });
    },
  );
});

test('the shared client has both usual paths, on any loopback port', async () => {
  const { redirectUris } = await openClients(parseSettings({}).signInRedirectUris, async () => ({})).find('intent-gate-public', baseUrl);
  const matches = (asked: string) => redirectUris.some((registered) => matchesRedirectUri(registered, asked));
  for (const host of ['127.0.0.1', '[::1]', 'localhost']) {
    for (const path of ['/callback', '/oauth/callback']) {
      for (const port of ['', ':3334', ':65535'])
        expect([host, path, port, matches(`http://${host}${port}${path}`)]).toEqual([host, path, port, true]);
    }
  }
  for (const other of [
    'http://127.0.0.1/other',
    'https://127.0.0.1/callback',
    'http://127.0.0.2/callback',
    'http://localhost.example/callback',
  ])
    expect(matches(other)).toBe(false);
});

test.each([
  ['http://LocalHost:7777/', 'http://LocalHost:7777/', true],
  ['http://LocalHost:7777/', 'http://LocalHost:8888/', false],
  ['http://LocalHost/', 'http://LocalHost:8888/', true],
])('the registered redirect URI %s permits %s: %j', (registered, asked, isPermitted) => {
  expect(matchesRedirectUri(registered, asked)).toBe(isPermitted);
});

test('while four documents of other clients are being read, a fifth is refused, and clients that are known are not', async () => {
  const [, document] = published[0] as (typeof published)[number];
  const within = openBoundReads(openMemoryTable(), 'authorize');
  const read = (url: URL) => (url.host === 'silent.example' ? new Promise<never>(() => {}) : Promise.resolve(document as never));
  const clients = openClients([], read, Date.now, within);
  await clients.find(document.client_id, baseUrl);
  for (let at = 0; at < 4; at++) void clients.find(`https://silent.example/${at}`, baseUrl);
  await expect(clients.find('https://silent.example/4', baseUrl)).rejects.toMatchObject({
    code: 'TOO_MANY_REQUESTS',
    status: 429,
    message: 'The gate is reading too many documents of others. Nothing was read; try again after Retry-After.',
    headers: { 'Retry-After': '2' },
  });
  expect(await clients.find(document.client_id, baseUrl)).toMatchObject({ clientId: document.client_id });
  expect(await clients.find('intent-gate-public', baseUrl)).toMatchObject({ clientId: 'intent-gate-public' });
});
