import { type Action, serve } from '../core/http/serve.ts';
import { answerInOAuth } from './oauth-error.ts';
import { register } from './registration.ts';

/** `POST /oauth/register`: registers a program on a person's machine (RFC 7591). Nothing is stored: the client id contains the registration. */
export const createAction = (): Action =>
  answerInOAuth(async (request) => {
    const { clientId, registration } = register(request.json());
    return {
      status: 201,
      body: {
        client_id: clientId,
        client_name: registration.name,
        redirect_uris: registration.redirectUris,
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
      headers: { Pragma: 'no-cache' },
    };
  });

export const handler = serve(createAction());
