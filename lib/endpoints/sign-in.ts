import * as z from 'zod';
import { describeAuthorizationServer, describeResource } from '../../functions/core/sign-in/metadata.ts';
import { errorBody } from '../../schemas/error-body.ts';
import {
  acceptForm,
  authorizationParameters,
  authorizationServer,
  protectedResource,
  refreshForm,
  registrationRequest,
  registrationResponse,
  revocationForm,
  tokenForm,
  tokenRefusal,
  tokenResponse,
} from '../../schemas/sign-in.ts';
import { type EndpointGroup, noExample } from './endpoint.ts';
import { exampleBaseUrl } from './fixtures.ts';

const form = 'application/x-www-form-urlencoded';
const refusedPage = { description: 'A page that says what is wrong.', answer: z.string(), mediaType: 'text/html' };
const refusedToken = {
  description: 'A refusal in the form of RFC 6749, or one of the gateway.',
  answer: z.union([tokenRefusal, errorBody]),
};

export const signIn = {
  'get-protected-resource': {
    method: 'GET',
    path: '/.well-known/oauth-protected-resource/mcp/sign-in',
    summary: 'Read how to get a token for MCP',
    description: 'RFC 9728, at the place where clients that know `/mcp/sign-in` look.',
    credential: 'none',
    answer: protectedResource,
    constant: describeResource,
    needs: {},
    example: { answer: describeResource(exampleBaseUrl) },
  },
  'get-authorization-server': {
    method: 'GET',
    path: '/.well-known/oauth-authorization-server/oauth',
    further: [{ path: '/.well-known/oauth-authorization-server' }],
    summary: 'Read what sign-in supports',
    description: 'RFC 8414. The id of a client is the address of its description; programs on the machine of a person can register.',
    credential: 'none',
    answer: authorizationServer,
    constant: describeAuthorizationServer,
    needs: {},
    example: { answer: describeAuthorizationServer(exampleBaseUrl) },
  },
  authorize: {
    method: 'GET',
    path: '/oauth/authorize',
    summary: 'Sign in, and read the policy',
    description:
      "For browsers. Leads to the sign-in page of the user pool, then shows the policy. Refusals are shown as a page, until it is known that the redirect URI is the client's own.",
    credential: 'none',
    query: authorizationParameters,
    answer: z.string(),
    mediaType: 'text/html',
    others: { 302: { description: 'To the sign-in page, or back to the client with a code or an error.' }, 400: refusedPage },
    needs: {
      table: { session: ['get', 'update', 'delete'], consent: ['get'], signInCode: ['put'] },
      egress: 'documents',
      policy: true,
      signIn: true,
    },
    example: noExample,
  },
  'finish-sign-in': {
    method: 'GET',
    path: '/oauth/signed-in',
    summary: 'Come back from the sign-in page of the user pool',
    description: 'For browsers, on their way back from the user pool to the page with the policy.',
    credential: 'none',
    success: 302,
    others: { 400: refusedPage },
    needs: { table: { session: ['put'] }, signIn: true },
    example: noExample,
  },
  'accept-policy': {
    method: 'POST',
    path: '/oauth/accept',
    summary: 'Accept the policy for a program',
    description: 'The form of the page with the policy. The answer leads on to the client, with a code that is valid for a minute.',
    credential: 'none',
    body: acceptForm,
    bodyType: form,
    answer: z.string(),
    mediaType: 'text/html',
    others: { 303: { description: 'The policy has changed: to the page that shows it.' }, 400: refusedPage, 403: refusedPage },
    needs: {
      table: { session: ['get', 'update', 'delete'], consent: ['put'], signInCode: ['put'] },
      egress: 'documents',
      policy: true,
      signIn: true,
    },
    example: noExample,
  },
  'issue-token': {
    method: 'POST',
    path: '/oauth/token',
    further: [{ path: '/oauth/revoke' }],
    summary: 'Exchange a code, or renew',
    description:
      'Takes a code once, and each refresh token once: one that is used again ends its family. The access token is a PAT. At `/oauth/revoke`, ends what a refresh token stands for (RFC 7009).',
    credential: 'none',
    body: z.union([tokenForm, refreshForm, revocationForm]),
    bodyType: form,
    answer: tokenResponse,
    headers: ['RateLimit', 'RateLimit-Policy'],
    others: { 400: refusedToken, 401: refusedToken, 429: refusedToken, 503: refusedToken },
    needs: {
      table: {
        signInCode: ['get'],
        refreshFamily: ['get', 'put', 'update', 'delete'],
        agent: ['getAll', 'put', 'update', 'delete', 'check'],
        agentKey: ['getAll', 'put', 'delete', 'check'],
        agentList: ['get', 'getAll', 'put', 'update', 'delete'],
        limit: ['get', 'put', 'update'],
        jti: ['put'],
        policy: ['put'],
      },
      kms: ['sign', 'publicKey'],
      policy: true,
      signIn: true,
    },
    example: noExample,
  },
  'register-client': {
    method: 'POST',
    path: '/oauth/register',
    summary: 'Register a program on the machine of a person',
    description:
      'RFC 7591, for programs whose redirect URIs are http on 127.0.0.1, [::1] or localhost. Nothing is kept: the `client_id` says what was registered.',
    credential: 'none',
    success: 201,
    body: registrationRequest,
    answer: registrationResponse,
    others: { 400: refusedToken },
    needs: {},
    memoryMb: 256,
    example: {
      body: { client_name: 'Inspector', redirect_uris: ['http://127.0.0.1:6276/oauth/callback'] },
      answer: {
        client_id: 'local.WyJJbnNwZWN0b3IiLCJodHRwOi8vMTI3LjAuMC4xOjYyNzYvb2F1dGgvY2FsbGJhY2siXQ',
        client_name: 'Inspector',
        redirect_uris: ['http://127.0.0.1:6276/oauth/callback'],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
    },
  },
} as const satisfies EndpointGroup;
