import type { ApiRequest } from '../http/request.ts';
import type { ApiResponse } from '../http/response.ts';
import { type Action, type LambdaHandler, serve } from '../http/serve.ts';
import { type Admin, requireFullAdmin } from './admin.ts';
import { adminVerifierFromEnvironment, type VerifyAdmin } from './verify-admin.ts';

/** An action for all admins; it has to enforce namespaces itself. */
export type AdminAction = (admin: Admin, request: ApiRequest) => Promise<ApiResponse>;

/** An action for full admins; others get ApiError FORBIDDEN. */
export const forFullAdmins =
  (act: AdminAction): AdminAction =>
  async (admin, request) => {
    requireFullAdmin(admin);
    return act(admin, request);
  };

/** @returns an action that throws what `verifyAdmin` throws */
export const forAdmins =
  (verifyAdmin: VerifyAdmin, act: AdminAction): Action =>
  async (request) =>
    act(await verifyAdmin(request), request);

/** Makes a Lambda handler for admins: nobody else reaches the action. */
export const serveAdmin = (act: AdminAction): LambdaHandler => serve(forAdmins(adminVerifierFromEnvironment(), act));
