import { expect, test } from '@jest/globals';
import { clientOptions, suggestClient } from '../../../registry/import/credentials.ts';

const serviceUrl = 'https://api.example/v1';
const tokenUrl = 'https://id.example/token';
const authorizationUrl = 'https://id.example/authorize';

test.each([
  {
    name: 'client credentials, with the scopes that operations require',
    schemes: { oauth: { type: 'oauth2', flows: { clientCredentials: { tokenUrl, scopes: { read: '', write: '' } } } } },
    security: [{ oauth: ['read'] }, { oauth: ['read', 'list'] }],
    expected: { grant: 'client', token_endpoint: tokenUrl, scopes: ['read', 'list'] },
  },
  {
    name: 'client credentials before the grant of a person, and an address that is relative to the service',
    schemes: {
      oauth: { type: 'oauth2', flows: { authorizationCode: { tokenUrl, authorizationUrl }, clientCredentials: { tokenUrl: '/token' } } },
    },
    expected: { grant: 'client', token_endpoint: 'https://api.example/token', scopes: [] },
  },
  {
    name: 'the grant of a person',
    schemes: { oauth: { type: 'oauth2', flows: { authorizationCode: { tokenUrl, authorizationUrl } } } },
    expected: { grant: 'person', token_endpoint: tokenUrl, authorization_endpoint: authorizationUrl, scopes: [] },
  },
  {
    name: 'flows as Swagger 2 names them',
    schemes: { oauth: { type: 'oauth2', flow: 'accessCode', tokenUrl, authorizationUrl } },
    expected: { grant: 'person', token_endpoint: tokenUrl, authorization_endpoint: authorizationUrl, scopes: [] },
  },
  {
    name: 'an issuer of OpenID Connect',
    schemes: { oidc: { type: 'openIdConnect', openIdConnectUrl: 'https://id.example/realms/a/.well-known/openid-configuration' } },
    expected: { grant: 'person', issuer: 'https://id.example/realms/a', scopes: [] },
  },
  {
    name: 'no client if the document has flows without a code only, or addresses that are none',
    schemes: {
      implicit: { type: 'oauth2', flows: { implicit: { authorizationUrl } } },
      broken: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: 'https://' } } },
      key: { type: 'apiKey', in: 'header', name: 'X-Key' },
    },
    expected: undefined,
  },
])('the client that a document suggests: $name', ({ schemes, security, expected }) => {
  expect(suggestClient(schemes, security, serviceUrl)).toEqual(expected);
});

test('the options of the command state the client', () => {
  expect(clientOptions({ grant: 'client', token_endpoint: tokenUrl, scopes: ['read', 'a b'] })).toEqual([
    '--grant client',
    `--token-endpoint ${tokenUrl}`,
    "--scope read 'a b'",
  ]);
});
