import type { ApiDocument } from '../../schemas/openapi.ts';
import { revalidated } from '../core/http/response.ts';
import { type Action, serve } from '../core/http/serve.ts';
import { readApiDocument } from './files.ts';

/** `GET /openapi.json`: the OpenAPI document, with the requested address as its server. */
export const createAction =
  ({ readDocument }: { readDocument(): ApiDocument }): Action =>
  async ({ baseUrl }) =>
    revalidated({ ...readDocument(), servers: [{ url: baseUrl }] });

export const handler = serve(createAction({ readDocument: readApiDocument }));
