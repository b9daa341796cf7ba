import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';

/** `GET /health`: says that the API answers. It uses none of the parts behind it, so that it cannot be used to put load on them. */
export const createAction = (): Action => async () => ok({ status: 'ok' });

export const handler = serve(createAction());
