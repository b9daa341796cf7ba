import { type Action, serve } from '../core/http/serve.ts';
import type { FindPolicy, PolicyText } from '../core/policy/policy.ts';
import { policyTextFromEnvironment } from '../core/registry/policy-in-force.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { readPage } from './files.ts';
import { fillPolicy, scriptedPage, withoutSlash } from './pages.ts';

/** The page's script only redirects to the console. */
const directives = ['img-src data:', "require-trusted-types-for 'script'"];

/** `GET /docs`: the policy in plain words, the errors and links; browsers are redirected to the reference in the console. */
export const createAction =
  ({ readPage, findPolicy }: { readPage(): string; findPolicy: FindPolicy<PolicyText> }): Action =>
  async ({ baseUrl }) =>
    scriptedPage(fillPolicy(readPage(), (await findPolicy(baseUrl)).sentences), directives);

export const handler = serve(withoutSlash(createAction({ readPage, findPolicy: policyTextFromEnvironment(tableFromEnvironment()) })));
