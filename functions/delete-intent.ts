import { type AdminAction, serveAdmin } from './core/admin/for-admins.ts';
import { noContent } from './core/http/response.ts';
import type { Intents } from './core/registry/intents.ts';
import { noSuchIntent } from './core/registry/refusals.ts';
import { registryFromEnvironment } from './core/registry/registry-from-environment.ts';

/** `DELETE /api/intents/{intent_uid}`. */
export const createAction =
  ({ intents }: { intents: Pick<Intents, 'as'> }): AdminAction =>
  async (admin, request) => {
    const isRemoved = await intents.as(admin).remove(request.pathParameter('intent_uid'), ({ intent }) => request.ifMatch(intent));
    if (!isRemoved) throw noSuchIntent();
    return noContent();
  };

export const handler = serveAdmin(createAction(registryFromEnvironment()));
