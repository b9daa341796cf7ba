import { ok } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';

/** `GET /health`: says that the API answers. It asks nothing of the parts behind it, so that it cannot be used to load them. */
export const createAction = (): Action => async () => ok({ status: 'ok' });

export const handler = serve(createAction());
