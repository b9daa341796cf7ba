import * as z from 'zod';
import { toFullIntent, toIntentDetails, viewQuery } from '../schemas/intent.ts';
import { intentUid } from '../schemas/intent-uid.ts';
import { revalidated } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { parse } from './core/json.ts';
import { type Intents, intentTag, openIntents } from './core/store/intents.ts';
import { noSuchIntent } from './core/store/refusals.ts';
import { tableFromEnvironment } from './core/store/table.ts';

export interface Deps {
  intents: Pick<Intents, 'find'>;
}

/** `GET /api/intents/{intent_uid}` (endpoint 2); `?view=full` returns the full intent schema. */
export const createAction =
  ({ intents }: Deps): Action =>
  async (request) => {
    const { intent_uid } = parse(z.object({ intent_uid: intentUid }), { intent_uid: request.pathParameter('intent_uid') });
    const { view } = request.query(viewQuery);
    const found = await intents.find(intent_uid);
    if (!found) throw noSuchIntent();
    const describe = view === 'full' ? toFullIntent : toIntentDetails;
    return revalidated(describe(found.intent, found.service.service_name), intentTag(found, view));
  };

export const action = createAction({ intents: openIntents(tableFromEnvironment()) });

export const handler = serve(action);
