import { expect, test } from '@jest/globals';
import { createAction as createAuthorizationServer } from '../../functions/get-authorization-server.ts';
import { createAction as createResource } from '../../functions/get-protected-resource.ts';
import { authorizationServer, protectedResource } from '../../schemas/sign-in.ts';
import { baseUrl } from '../support/gate.ts';
import { invoke } from '../support/invoke.ts';

test('the description of a resource names the resource that its place belongs to (RFC 9728 section 3.3)', async () => {
  const path = '/.well-known/oauth-protected-resource/mcp/sign-in';
  const { status, body, headers } = await invoke(createResource(), { path });
  expect(status).toBe(200);
  expect(protectedResource.parse(body)).toMatchObject({
    resource: `${baseUrl}/mcp/sign-in`,
    authorization_servers: [`${baseUrl}/oauth`],
    bearer_methods_supported: ['header'],
  });
  expect(headers.ETag).toBeTruthy();
});

test('the issuer belongs to the place of its description (RFC 8414 section 3.3), and supports one way only', async () => {
  const path = '/.well-known/oauth-authorization-server/oauth';
  const { status, body } = await invoke(createAuthorizationServer(), { path });
  expect(status).toBe(200);
  expect(authorizationServer.parse(body)).toMatchObject({
    issuer: `${baseUrl}/oauth`,
    authorization_endpoint: `${baseUrl}/oauth/authorize`,
    token_endpoint: `${baseUrl}/oauth/token`,
  });
});

test('whoever looks at the root of the host is sent on', async () => {
  const { status, headers } = await invoke(createAuthorizationServer(), { path: '/.well-known/oauth-authorization-server' });
  expect([status, headers.Location]).toEqual([308, `${baseUrl}/.well-known/oauth-authorization-server/oauth`]);
});
