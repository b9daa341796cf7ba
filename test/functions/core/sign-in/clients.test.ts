import { describe, expect, test } from '@jest/globals';
import { openClients } from '../../../../functions/core/sign-in/clients.ts';
import { matchesRedirectUri } from '../../../../functions/core/sign-in/redirect-uri.ts';
import { parseSettings } from '../../../../lib/settings.ts';
import { baseUrl } from '../../../support/gate.ts';

/** Documents in the form in which they are published: what counts of them, and addresses at which these programs want their answer. */
const published: [name: string, document: Record<string, unknown> & { client_id: string }, redirects: string[]][] = [
  [
    'Claude',
    {
      client_id: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
      client_name: 'Claude',
      client_uri: 'https://claude.ai',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
  ],
  [
    'Claude Code',
    {
      client_id: 'https://claude.ai/oauth/claude-code-client-metadata',
      client_name: 'Claude Code',
      client_uri: 'https://claude.ai',
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    ['http://localhost:8080/callback', 'http://localhost:53682/callback'],
  ],
  [
    'ChatGPT',
    {
      client_id: 'https://chatgpt.com/oauth/client.json',
      client_name: 'ChatGPT',
      redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
      jwks_uri: 'https://chatgpt.com/oauth/jwks.json',
    },
    ['https://chatgpt.com/connector_platform_oauth_redirect'],
  ],
  [
    'Visual Studio Code',
    {
      client_id: 'https://vscode.dev/oauth/client-metadata.json',
      client_name: 'Visual Studio Code',
      client_uri: 'https://vscode.dev/product',
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
      redirect_uris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
    ['http://127.0.0.1:33418/', 'http://127.0.0.1:60123/', 'https://vscode.dev/redirect'],
  ],
  [
    'opencode',
    {
      client_id: 'https://opencode.ai/oauth/opencode/client.json',
      client_name: 'opencode',
      client_uri: 'https://opencode.ai',
      application_type: 'native',
      redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      token_endpoint_auth_methods_supported: ['none'],
    },
    ['http://127.0.0.1:19876/callback', 'http://localhost:19876/callback'],
  ],
];

const find = (document: Record<string, unknown> & { client_id: string }) =>
  openClients([], async () => JSON.parse(JSON.stringify(document))).find(document.client_id, baseUrl);

test.each(published)('the published description of %s is accepted, with the addresses that it uses', async (name, document, redirects) => {
  const client = await find(document);
  expect(client).toMatchObject({ name, host: new URL(document.client_id).host });
  for (const asked of redirects) {
    expect([asked, client.redirectUris.some((registered) => matchesRedirectUri(registered, asked))]).toEqual([asked, true]);
  }
});

describe('a description says that the client can do without a secret', () => {
  const [, document] = published[0] as (typeof published)[number];
  test.each<[unknown, unknown, boolean]>([
    [undefined, undefined, true],
    ['none', undefined, true],
    ['none', ['private_key_jwt'], true],
    ['private_key_jwt', ['private_key_jwt', 'none'], true],
    [undefined, ['none'], true],
    ['private_key_jwt', undefined, false],
    ['client_secret_basic', ['client_secret_basic', 'client_secret_post'], false],
    [undefined, ['private_key_jwt'], false],
    [undefined, [], false],
    ['private_key_jwt', 'none', false],
    [1, undefined, false],
  ])('method %j, supported %j: %j', async (token_endpoint_auth_method, token_endpoint_auth_methods_supported, isAccepted) => {
    const found = find({ ...document, token_endpoint_auth_method, token_endpoint_auth_methods_supported });
    if (isAccepted) await expect(found).resolves.toMatchObject({ name: 'Claude' });
    else await expect(found).rejects.toMatchObject({ code: 'invalid_client', message: expect.stringContaining('without a secret') });
  });
});

test('the client for hosts without a description has both usual paths, at any port of the machine', async () => {
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
