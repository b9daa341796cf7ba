import { type Admit, openAdmission } from '../core/execution/admit.ts';
import { forwardToFunction } from '../core/http/forward-to-function.ts';
import type { ApiRequest } from '../core/http/request.ts';
import { type Action, serve } from '../core/http/serve.ts';
import { authenticatorFromEnvironment } from '../core/pat/authenticate.ts';
import { policyFromEnvironment } from '../core/registry/policy-in-force.ts';
import { ApiError } from '../core/runtime/api-error.ts';
import { isCatalogueHidden, readEnvironment, splitList } from '../core/runtime/environment.ts';
import { withNearest } from '../core/search/nearest.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { action as executeIntent } from '../execute-intent.ts';
import { action as getExecution } from '../get-execution.ts';
import { action as getIntent } from '../get-intent.ts';
import { action as searchIntents } from '../search-intents.ts';
import { openAnswers } from './answer.ts';
import { requireSignIn } from './require-sign-in.ts';
import { type Endpoints, openTools, type ToolOptions } from './tools.ts';

export interface Deps extends ToolOptions {
  endpoints: Endpoints;
  admit: Admit;
  allowedOrigins: readonly string[];
  version: string;
}

/** `POST /mcp`: the gate as a Model Context Protocol server (Streamable HTTP, stateless). `/mcp/sign-in` is the same for hosts that sign people in. */
export const createAction = ({ endpoints, admit, allowedOrigins, version, ...options }: Deps): Action => {
  const { searchIntents: search, getIntent, executeIntent } = endpoints;
  const nearest = { search, findPolicy: isCatalogueHidden() ? undefined : options.findPolicy };
  const own = { ...endpoints, getIntent: withNearest(getIntent, nearest), executeIntent: withNearest(executeIntent, nearest) };
  const answer = openAnswers(openTools(own, options), endpoints.getExecution, version);

  return requireSignIn(admit, async (request) => {
    checkOrigin(request, allowedOrigins);
    return answer(request);
  });
};

/** Refuses other origins, which reveal DNS rebinding (MCP, Streamable HTTP, "Security"). */
function checkOrigin({ headerValues, baseUrl }: ApiRequest, allowedOrigins: readonly string[]): void {
  const known = [new URL(baseUrl).origin, ...allowedOrigins];
  if (known.includes('*') || headerValues('origin').every((origin) => known.includes(origin))) return;
  throw new ApiError(
    'FORBIDDEN',
    'Pages of other origins may not use this endpoint. Call it from a program, which sends no Origin header, or ask the operators of this gate to add the origin to corsOrigins.',
    { details: { reason: 'origin' } },
  );
}

const { version, issueFunction, requireFreshSignature, signInClient, allowedOrigins, baseUrl } = readEnvironment(
  ['version', 'issueFunction'],
  ['requireFreshSignature', 'signInClient', 'allowedOrigins', 'baseUrl'],
);

/** Timeout of the function that issues PATs, in milliseconds. */
const issueTimeoutMs = 12_000;

const table = tableFromEnvironment();
const findPolicy = policyFromEnvironment(table);
const issuePat = forwardToFunction(issueFunction, { method: 'POST', path: '/api/pat/issue', timeoutMs: issueTimeoutMs });

export const handler = serve(
  createAction({
    endpoints: { searchIntents, getIntent, issuePat, executeIntent, getExecution },
    admit: openAdmission(authenticatorFromEnvironment(table, findPolicy), table),
    findPolicy,
    isFreshRequired: requireFreshSignature === 'true',
    isSignInOffered: signInClient !== undefined,
    // a local stack has several addresses
    allowedOrigins: [...splitList(allowedOrigins), ...splitList(baseUrl)],
    version,
  }),
);
