import { type PolicyWords, policyQuery } from '../schemas/policy.ts';
import { revalidated } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { type FindPolicy, openPolicyText, type PolicyText } from './core/policy/policy.ts';
import { openPolicies, policyTextFromEnvironment } from './core/registry/policy-in-force.ts';
import { ApiError } from './core/runtime/api-error.ts';
import { tableFromEnvironment } from './core/table/table.ts';

export interface Deps {
  findPolicy: FindPolicy<PolicyText>;
  /** finds an earlier policy by its version */
  findVersion(version: string, baseUrl: string): Promise<PolicyText | undefined>;
}

const noSuchVersion = () =>
  new ApiError('NOT_FOUND', 'No published policy has this version. GET /api/changes?kind=policy lists the versions.');

/** `GET /api/policy`: the usage policy, in the bytes that agents sign; `?view=words` gives it in plain sentences. */
export const createAction =
  ({ findPolicy, findVersion }: Deps): Action =>
  async (request) => {
    const { view, version } = request.query(policyQuery);
    const found = version === undefined ? await findPolicy(request.baseUrl) : await findVersion(version, request.baseUrl);
    if (!found) throw noSuchVersion();
    const { policy, digest, reference, sentences, pointer } = found;
    if (view === undefined) return revalidated(policy, `"${digest}"`);
    const words: PolicyWords = {
      policy: reference,
      sentences,
      source: pointer?.version === undefined && version === undefined ? 'file' : 'published',
    };
    return revalidated(words);
  };

const table = tableFromEnvironment();

export const handler = serve(
  createAction({ findPolicy: policyTextFromEnvironment(table), findVersion: openPolicies(table, openPolicyText) }),
);
