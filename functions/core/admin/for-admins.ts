import type { ApiRequest } from '../http/request.ts';
import type { ApiResponse } from '../http/response.ts';
import { type Action, type LambdaHandler, serve } from '../http/serve.ts';
import { type Admin, requireFullAdmin } from './admin.ts';
import type { VerifyAdmin } from './verify-admin.ts';

declare const verified: unique symbol;

/** An action that nobody but an admin gets anything of: only {@link forAdmins} and {@link forFullAdmins} make one. */
export type AdminAction = Action & { readonly [verified]: true };

type Act = (admin: Admin, request: ApiRequest) => Promise<ApiResponse>;

/**
 * What is done for admins, also those of certain namespaces: `act` is to refuse what lies outside of theirs.
 * @returns an action that throws what `verifyAdmin` does
 */
export const forAdmins = (verifyAdmin: VerifyAdmin, act: Act): AdminAction =>
  (async (request: ApiRequest) => act(await verifyAdmin(request), request)) as Action as AdminAction;

/** What is done for admins of the whole gate alone. Others get ApiError FORBIDDEN. */
export const forFullAdmins = (verifyAdmin: VerifyAdmin, act: Act): AdminAction =>
  forAdmins(verifyAdmin, async (admin, request) => {
    requireFullAdmin(admin);
    return act(admin, request);
  });

/** Makes a Lambda handler of an endpoint for admins: one that forgets to verify them does not compile. */
export const serveAdmin = (action: AdminAction): LambdaHandler => serve(action);
