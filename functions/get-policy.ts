import { revalidated } from './core/http/response.ts';
import { type Steps, serve } from './core/http/serve.ts';
import { type FindPolicy, loadPolicyTemplate, openPolicy } from './core/policy/policy.ts';

export interface Deps {
  findPolicy: FindPolicy;
}

/** Endpoint 4: the usage policy, in the bytes that agents sign. */
export const createHandler =
  ({ findPolicy }: Deps): Steps =>
  async ({ baseUrl }) => {
    const { policy, digest } = findPolicy(baseUrl);
    return revalidated(policy, `"${digest}"`);
  };

export const steps = createHandler({ findPolicy: openPolicy(loadPolicyTemplate()) });

export const handler = serve(steps);
