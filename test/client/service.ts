import type { Action } from '../../functions/core/http/serve.ts';
import type { PolicyTemplate } from '../../functions/core/policy/template.ts';
import { createAction as createGetPolicy } from '../../functions/get-policy.ts';
import type { Gate } from '../support/gate.ts';
import { invoke, type Target } from '../support/invoke.ts';
import { loadPolicyTemplate, openPolicy } from '../support/policy.ts';

/** A fault that replaces the response to a request. */
export type Fault = 'lost before' | 'lost after' | Response;

export interface Service {
  fetch: typeof fetch;
  /** requests: method and path, headers by lower-case name, and the body */
  requests: { what: string; headers: Headers; body: unknown; status: number | undefined }[];
  /** faults for the next requests to a path, one each */
  faults: Record<string, (Fault | undefined)[]>;
  /** changes a response before the client gets it */
  rewrite?: (path: string, body: Record<string, unknown>) => Record<string, unknown>;
  setPolicy(template: PolicyTemplate): void;
  count(what: string): number;
}

/** The shipped policy with another rate. */
export function policyWithRate(rate: number, unit = 'minute'): PolicyTemplate {
  const template = structuredClone(loadPolicyTemplate());
  const [constraint] = template.permission?.[0]?.constraint ?? [];
  if (!constraint) throw new Error('the shipped policy has no rate');
  Object.assign(constraint, { rightOperand: rate, unit: `{base_url}/vocabulary/${unit}` });
  return template;
}

/** The gate's own handlers behind a `fetch`, with faults on demand. */
export function serviceOver(gate: Gate): Service {
  let endpoints: Record<string, Action>;
  const service: Service = {
    requests: [],
    faults: {},
    setPolicy: (template) => {
      endpoints = {
        'GET /api/policy': createGetPolicy({ findPolicy: openPolicy(template), findVersion: async () => undefined }),
        'POST /api/pat/issue': gate.openIssue(template),
        'POST /api/intents/execute': gate.openExecute({ template }),
      };
    },
    count: (what) => service.requests.filter((request) => request.what === what).length,
    fetch: async (input, { method = 'GET', headers, body, signal } = {}) => {
      signal?.throwIfAborted();
      const { pathname, search, searchParams } = new URL(String(input));
      const path = pathname.replace(/^\/test/, '');
      const what = `${method} ${path}${search}`;
      const sent = { what, headers: new Headers(headers), body, status: undefined as number | undefined };
      service.requests.push(sent);
      const fault = service.faults[path]?.shift();
      if (fault instanceof Response) return fault;
      if (fault === 'lost before') throw new TypeError('fetch failed');
      const answer = await invoke(endpoints[`${method} ${path}`] as Action, `${method} ${path}` as Target, {
        query: Object.fromEntries(searchParams),
        headers: Object.fromEntries(sent.headers),
        ...(typeof body === 'string' && { body }),
        remainingMs: 29_000,
      });
      if (fault === 'lost after') throw new TypeError('fetch failed');
      sent.status = answer.status;
      return Response.json(service.rewrite?.(path, answer.body) ?? answer.body, {
        status: answer.status,
        headers: { ...(answer.headers as Record<string, string>), Date: new Date().toUTCString() },
      });
    },
  };
  service.setPolicy(loadPolicyTemplate());
  return service;
}
