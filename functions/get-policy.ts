import { type PolicyWords, policyQuery } from '../schemas/policy.ts';
import { revalidated } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { describePolicy } from './core/policy/describe.ts';
import { type FindPolicy, openPolicy } from './core/policy/policy.ts';

/** `GET /api/policy`: the usage policy, in the bytes that agents sign; `?view=words` gives it in plain sentences. */
export const createAction =
  ({ findPolicy }: { findPolicy: FindPolicy }): Action =>
  async (request) => {
    const { baseUrl } = request;
    const { policy, digest, reference } = findPolicy(baseUrl);
    if (request.query(policyQuery).view === undefined) return revalidated(policy, `"${digest}"`);
    const words: PolicyWords = { policy: reference, sentences: describePolicy(policy, baseUrl) };
    return revalidated(words);
  };

export const action = createAction({ findPolicy: openPolicy() });

export const handler = serve(action);
