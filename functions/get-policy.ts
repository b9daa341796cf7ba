import { revalidated } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { type FindPolicy, loadPolicyTemplate, openPolicy } from './core/policy/policy.ts';

export interface Deps {
  findPolicy: FindPolicy;
}

/** `GET /api/policy` (endpoint 4): the usage policy, in the bytes that agents sign. */
export const createAction =
  ({ findPolicy }: Deps): Action =>
  async ({ baseUrl }) => {
    const { policy, digest } = findPolicy(baseUrl);
    return revalidated(policy, `"${digest}"`);
  };

export const action = createAction({ findPolicy: openPolicy(loadPolicyTemplate()) });

export const handler = serve(action);
