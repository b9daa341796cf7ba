import * as z from 'zod';
import '../../functions/sign-in/records.ts';
import { challengeOf, describeSignInRefusal, signInFirst, signInPath } from '../../functions/core/http/sign-in-address.ts';
import { describeAuthorizationServer, describeResource } from '../../functions/sign-in/metadata.ts';
import { isRedirectUri } from '../../functions/sign-in/redirect-uri.ts';
import { errorBody } from '../../schemas/error-body.ts';
import { rpcError } from '../../schemas/json-rpc.ts';
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
} from '../../schemas/sign-in/sign-in.ts';
import type { Declaration } from '../declaration.ts';
import { type Authorizer, issueFailures, noExample } from '../endpoints/endpoint.ts';
import { exampleBaseUrl } from '../endpoints/fixtures.ts';
import { flag, isHttpsOrigin, list, localStage, wholeNumber } from '../settings/kinds.ts';

const form = 'application/x-www-form-urlencoded';
const refusedPage = { description: 'A page that explains the refusal.', answer: z.string(), mediaType: 'text/html' };
const refusedToken = {
  description: 'A refusal as defined by RFC 6749, or one of API Gateway.',
  answer: z.union([tokenRefusal, errorBody]),
};

declare module '../endpoints/needs.ts' {
  interface Needs {
    /** lets people sign in to authorise programs, or announces that they can, with the setting `signIn` */
    signIn?: true;
  }
}

/** The authorizer of the address for hosts that sign people in. */
const authorizer: Authorizer = {
  name: 'admit-token',
  challengeOf,
  refusalOf: (requestId) => describeSignInRefusal({ code: 'UNAUTHORIZED', message: signInFirst, details: { request_id: requestId } }),
};

const announcing = { needs: { signIn: true } } as const;

const isHttpsRoot = (address: unknown): boolean => typeof address === 'string' && isHttpsOrigin(address);

export const signIn = {
  tags: [
    {
      name: 'Sign-in',
      description:
        'For hosts without a key: people sign in and accept the policy in a browser (OAuth 2.1). Only with the setting `signIn`.',
    },
  ],
  onlyWith: 'signIn',
  endpoints: {
    'Sign-in': {
      'get-protected-resource': {
        method: 'GET',
        path: '/.well-known/oauth-protected-resource/mcp/sign-in',
        summary: 'Read how to get a token for MCP',
        description: 'RFC 9728, at the path that clients derive from `/mcp/sign-in`.',
        credential: 'none',
        answer: protectedResource,
        constant: describeResource,
        needs: {},
        example: { answer: describeResource(exampleBaseUrl) },
      },
      'get-authorization-server': {
        method: 'GET',
        path: '/.well-known/oauth-authorization-server/oauth',
        furtherPaths: [{ path: '/.well-known/oauth-authorization-server' }],
        summary: 'Read the metadata of sign-in',
        description:
          "RFC 8414. A `client_id` is the address of a client metadata document; programs on a person's machine can register instead.",
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
          "For browsers. Redirects to the sign-in page of the user pool, then shows the policy. Errors are shown as a page until the redirect URI is known to be the client's own.",
        credential: 'none',
        query: authorizationParameters,
        answer: z.string(),
        mediaType: 'text/html',
        otherAnswers: {
          302: { description: 'Redirects to the sign-in page, or to the client with a code or an error.' },
          400: refusedPage,
        },
        needs: {
          table: { session: ['get', 'update', 'delete'], consent: ['get'], signInCode: ['put'], slowCalls: ['get', 'update'] },
          egress: 'documents',
          issueChecks: true,
          policy: true,
          signIn: true,
        },
        example: noExample,
      },
      'finish-sign-in': {
        method: 'GET',
        path: '/oauth/signed-in',
        summary: 'Return from the sign-in page of the user pool',
        description: 'For browsers, which the user pool redirects here, and which are redirected to the page with the policy.',
        credential: 'none',
        success: 302,
        otherAnswers: { 400: refusedPage },
        needs: { table: { session: ['get', 'put'] }, signIn: true },
        example: noExample,
      },
      'accept-policy': {
        method: 'POST',
        path: '/oauth/accept',
        summary: 'Accept the policy for a program',
        description:
          'Takes the form of the page with the policy. The response leads to the client, with a code that is valid for a minute.',
        credential: 'none',
        body: acceptForm,
        bodyType: form,
        answer: z.string(),
        mediaType: 'text/html',
        otherAnswers: {
          303: { description: 'The policy has changed; redirects to the page that shows it.' },
          400: refusedPage,
          403: refusedPage,
        },
        needs: {
          table: { session: ['get', 'update', 'delete'], consent: ['put'], signInCode: ['put'], slowCalls: ['get', 'update'] },
          egress: 'documents',
          policy: true,
          signIn: true,
        },
        example: noExample,
      },
      'issue-token': {
        method: 'POST',
        path: '/oauth/token',
        furtherPaths: [{ path: '/oauth/revoke' }],
        summary: 'Exchange a code, renew or revoke',
        description:
          'Accepts a code once, and each refresh token once: repeated within a minute, it gets the same successor; later reuse revokes its family. The access token is a PAT. `/oauth/revoke` revokes a refresh token (RFC 7009); a PAT works until it expires.',
        credential: 'none',
        body: z.union([tokenForm, refreshForm, revocationForm]),
        bodyType: form,
        answer: tokenResponse,
        headers: ['RateLimit', 'RateLimit-Policy'],
        otherAnswers: { 400: refusedToken, 401: refusedToken, 429: refusedToken, 503: refusedToken },
        needs: {
          table: {
            signInCode: ['get'],
            refreshFamily: ['get', 'put', 'update', 'delete'],
            agent: ['getAll', 'put', 'update', 'delete', 'check'],
            agentKey: ['getAll', 'put', 'delete', 'check'],
            agentList: ['get', 'getAll', 'put', 'update', 'delete'],
            limit: ['get', 'put', 'update'],
            jti: ['put'],
            earlierPolicy: ['put'],
          },
          kms: ['sign', 'publicKey'],
          policy: true,
          signIn: true,
        },
        logMetrics: { Failures: issueFailures },
        example: noExample,
      },
      'register-client': {
        method: 'POST',
        path: '/oauth/register',
        summary: "Register a program on a person's machine",
        description:
          'RFC 7591, for programs whose redirect URIs are http on 127.0.0.1, [::1] or localhost. Nothing is stored: the `client_id` contains the registered data.',
        credential: 'none',
        success: 201,
        body: registrationRequest,
        answer: registrationResponse,
        otherAnswers: { 400: refusedToken },
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
    },
  },
  background: [
    {
      name: authorizer.name,
      summary: 'Let requests with a token pass to /mcp/sign-in',
      isQuiet: true,
      needs: {},
      timeoutSeconds: 10,
      memoryMb: 128,
    },
  ],
  additions: {
    mcp: {
      ...announcing,
      description:
        ' With the setting `signIn`, `/mcp/sign-in` is the same server for hosts that sign people in: it answers every request without a valid PAT with 401, while `/mcp` needs a PAT for executions only, and returns a result with `isError` that says what to do.',
      furtherPaths: [{ path: signInPath, onlyWith: 'signIn', authorizer }],
      otherAnswers: {
        401: {
          description: 'Only at `/mcp/sign-in`: the request has no valid PAT. `WWW-Authenticate` says where to get one.',
          answer: rpcError,
        },
      },
    },
    'get-own-description': announcing,
    'get-console': announcing,
    'get-api-catalog': announcing,
  },
  settings: {
    signIn: flag
      .default(false)
      .describe(
        'people sign in with the user pool and accept the policy for [hosts that only take an address](mcp.md#signing-in); needs `domainName`, or a `publicBaseUrl` without a path',
      ),
    signInRedirectUris: list(z.string().refine(isRedirectUri, 'must be an https address, or http on 127.0.0.1, [::1] or localhost'))
      .default(['127.0.0.1', '[::1]', 'localhost'].flatMap((host) => [`http://${host}/callback`, `http://${host}/oauth/callback`]))
      .describe(
        'redirect URIs of hosts that use the client `intent-gate-public`; on 127.0.0.1, [::1] and localhost, a URI without a port allows every port',
      ),
    signInSeconds: wholeNumber(60, 30 * 86_400)
      .default(12 * 3_600)
      .describe('how long people stay signed in and programs may renew PATs on their behalf, in seconds'),
  },
  rules: [
    [
      'signIn',
      ({ signIn, stage, domainName, publicBaseUrl }) => signIn && stage !== localStage && !domainName && !isHttpsRoot(publicBaseUrl),
      'needs domainName, or a publicBaseUrl with https and without a path, because clients look up the sign-in metadata at the root of the host',
    ],
    [
      'signIn',
      ({ signIn, requireProofOfPossession }) => signIn && requireProofOfPossession,
      'cannot be combined with requireProofOfPossession, because people who sign in have no key',
    ],
  ],
  records: {
    session: 'sessions of signed-in people',
    consent: 'accepted policies',
    signInCode: 'authorization codes',
    refreshFamily: 'families of refresh tokens',
  },
} as const satisfies Declaration;
