import type { ApiRequest } from '../http/request.ts';
import type { ApiResponse } from '../http/response.ts';
import { type Action, type LambdaHandler, serve } from '../http/serve.ts';
import { type Admin, requireFullAdmin } from './admin.ts';
import type { VerifyAdmin } from './verify-admin.ts';

declare const verified: unique symbol;

/** An action for admins only. */
export type AdminAction = Action & { readonly [verified]: true };

type Act = (admin: Admin, request: ApiRequest) => Promise<ApiResponse>;

/**
 * An action for all admins; `act` has to refuse what is outside an admin's namespaces.
 * @returns an action that throws what `verifyAdmin` throws
 */
export const forAdmins = (verifyAdmin: VerifyAdmin, act: Act): AdminAction =>
  (async (request: ApiRequest) => act(await verifyAdmin(request), request)) as Action as AdminAction;

/** An action for full admins; others get ApiError FORBIDDEN. */
export const forFullAdmins = (verifyAdmin: VerifyAdmin, act: Act): AdminAction =>
  forAdmins(verifyAdmin, async (admin, request) => {
    requireFullAdmin(admin);
    return act(admin, request);
  });

/** Makes a Lambda handler for an {@link AdminAction}: an action that does not verify admins does not compile. */
export const serveAdmin = (action: AdminAction): LambdaHandler => serve(action);
