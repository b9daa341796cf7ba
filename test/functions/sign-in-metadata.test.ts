import { expect, test } from '@jest/globals';
import { createAction as createAuthorizationServer } from '../../functions/get-authorization-server.ts';
import { createAction as createMcpResource } from '../../functions/get-mcp-protected-resource.ts';
import { createAction as createResource } from '../../functions/get-protected-resource.ts';
import { authorizationServer, protectedResource } from '../../schemas/sign-in.ts';
import { baseUrl } from '../support/gate.ts';
import { invoke } from '../support/invoke.ts';

test.each([
  ['/.well-known/oauth-protected-resource', createResource(), baseUrl],
  ['/.well-known/oauth-protected-resource/mcp', createMcpResource(), `${baseUrl}/mcp`],
])('%s names the resource that its place belongs to (RFC 9728 section 3.3)', async (path, action, resource) => {
  const { status, body, headers } = await invoke(action, { path });
  expect(status).toBe(200);
  expect(protectedResource.parse(body)).toMatchObject({ resource, authorization_servers: [baseUrl], bearer_methods_supported: ['header'] });
  expect(headers.ETag).toBeTruthy();
});

test('the issuer is the address of the gate, and supports one way only', async () => {
  const { status, body } = await invoke(createAuthorizationServer(), { path: '/.well-known/oauth-authorization-server' });
  expect(status).toBe(200);
  expect(authorizationServer.parse(body)).toMatchObject({
    issuer: baseUrl,
    authorization_endpoint: `${baseUrl}/oauth/authorize`,
    token_endpoint: `${baseUrl}/oauth/token`,
  });
  expect(body).not.toHaveProperty('registration_endpoint');
});
