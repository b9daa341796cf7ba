import * as z from 'zod';
import '../../functions/connections/records.ts';
import { connectCallback, connectForm, connectionList, credentialTest, serviceConnections } from '../../schemas/connections/connections.ts';
import type { Declaration } from '../declaration.ts';
import { noExample } from '../endpoints/endpoint.ts';
import { exampleBaseUrl, serviceId } from '../endpoints/fixtures.ts';
import type { Needs } from '../endpoints/needs.ts';

declare module '../endpoints/needs.ts' {
  interface Needs {
    /** seals and opens tokens of services: kms:GenerateMac with the grant key */
    grantKey?: true;
  }
}

const page = { credential: 'none', answer: z.string(), mediaType: 'text/html', example: noExample } as const;
const refusedPage = { description: 'A page that explains the refusal.', answer: z.string(), mediaType: 'text/html' };
const refusedPages = { 400: refusedPage, 403: refusedPage };

const calling = { needs: { table: { grant: ['getAll', 'get', 'update'] }, grantKey: true } } as const satisfies { needs: Needs };

export const connections = {
  endpoints: {
    Services: {
      'get-service-connections': {
        method: 'GET',
        path: '/api/services/{service_id}/connections',
        summary: 'Read who is connected to a service',
        description:
          'For a service whose credential is an OAuth client: how many people are connected, or when the token of the gate ends, and what the issuer refused last. No response shows a token.',
        credential: 'admin',
        answer: serviceConnections,
        needs: { table: { service: ['get'], grant: ['get', 'query'] } },
        example: {
          path: { service_id: serviceId },
          answer: { service_id: serviceId, grant: 'person', people: 12, redirect_uri: `${exampleBaseUrl}/connect/${serviceId}/callback` },
        },
      },
      'test-service-credential': {
        method: 'POST',
        path: '/api/services/{service_id}/credential/test',
        summary: 'Try the OAuth client of a service',
        description:
          'Obtains a token as the client and discards it. For the grant `person`, reads the metadata of the issuer and checks whether the issuer knows the client.',
        credential: 'admin',
        neverErrors: ['CONFLICT'],
        answer: credentialTest,
        needs: { table: { service: ['get'] }, credentials: 'read', egress: 'documents' },
        timeoutSeconds: 29,
        example: {
          path: { service_id: serviceId },
          answer: {
            ...{ service_id: serviceId, grant: 'client', ok: false, error: 'invalid_client', description: 'Unknown client.' },
            token_endpoint: 'https://id.example/token',
          },
        },
      },
    },
  },
  additions: { 'execute-intent': calling, 'run-deferred-call': calling },
  records: { grant: 'sealed tokens of services', connecting: 'people who are at an issuer' },
} as const satisfies Declaration;

/** For people, who have to be able to sign in. */
export const ownConnections = {
  onlyWith: 'signIn',
  endpoints: {
    Execution: {
      'list-connections': {
        method: 'GET',
        path: '/api/connections',
        summary: 'List the services that you are connected to',
        description:
          'For people, with the access token of their sign-in on the console or the command line; they need no group. Calls of programs that act for them carry their tokens.',
        credential: 'none',
        errors: ['UNAUTHORIZED'],
        answer: connectionList,
        needs: { table: { grant: ['query'], service: ['getAll'] }, adminTokens: true },
        example: { answer: { connections: [] } },
      },
      'end-connection': {
        method: 'DELETE',
        path: '/api/connections/{service_id}',
        summary: 'End your connection to a service',
        description:
          'After the response, no call carries your token. It is revoked at the issuer if that is offered (RFC 7009). With the same token as `GET`.',
        credential: 'none',
        errors: ['UNAUTHORIZED'],
        needs: {
          table: { grant: ['get', 'delete'], service: ['get'] },
          adminTokens: true,
          credentials: 'read',
          egress: 'documents',
          grantKey: true,
        },
        timeoutSeconds: 29,
        example: { path: { service_id: serviceId } },
      },
    },
    'Sign-in': {
      'show-connection': {
        ...page,
        method: 'GET',
        path: '/connect/{service_id}',
        summary: 'Read what connecting to a service means',
        description: 'For browsers. A person signs in first, and sees the service, the scopes and the issuer.',
        otherAnswers: { ...refusedPages, 302: { description: 'Redirects to the sign-in page of the user pool.' } },
        needs: { table: { service: ['get'], session: ['get'], grant: ['get'] }, signIn: true },
      },
      'begin-connection': {
        ...page,
        method: 'POST',
        path: '/connect/{service_id}',
        summary: 'Go to the issuer of a service',
        description:
          'Takes the form of the page, and leads to the issuer: authorization code with PKCE, with a `state` that is valid once, for ten minutes.',
        body: connectForm,
        bodyType: 'application/x-www-form-urlencoded',
        otherAnswers: refusedPages,
        needs: { table: { service: ['get'], session: ['get'], connecting: ['put'] }, egress: 'documents', signIn: true },
      },
      'finish-connection': {
        ...page,
        method: 'GET',
        path: '/connect/{service_id}/callback',
        summary: 'Return from the issuer of a service',
        description:
          'For browsers, which the issuer redirects here with a code. Checks `state` and `iss` (RFC 9207), and keeps the tokens sealed.',
        query: connectCallback,
        otherAnswers: refusedPages,
        needs: {
          table: { service: ['get'], session: ['get'], connecting: ['get', 'delete'], grant: ['put'], agentKey: ['check'] },
          credentials: 'read',
          egress: 'documents',
          grantKey: true,
          signIn: true,
        },
        timeoutSeconds: 29,
      },
    },
  },
} as const satisfies Declaration;
