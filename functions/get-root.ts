import { type Action, serve } from './core/http/serve.ts';

/** `GET /`: redirects people to the console, and programs to the OpenAPI document. */
export const createAction =
  (): Action =>
  async ({ baseUrl, headerValues }) => {
    const page = /\btext\/html\b/i.test(headerValues('accept').join()) ? 'console' : 'openapi.json';
    return { status: 302, headers: { Location: `${baseUrl}/${page}`, Vary: 'Accept' } };
  };

export const handler = serve(createAction());
