import { randomUUID } from 'node:crypto';
import { afterAll, expect } from '@jest/globals';
import { CompactSign, exportJWK, generateKeyPair } from 'jose';
import { startStack } from '../../bin/local/stack.ts';
import { errorBody } from '../../schemas/error-body.ts';
import { serviceNamed } from '../support/records.ts';
import { toolCall } from '../support/tool-call.ts';

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests compare whole bodies of every shape
  body: any;
}

export interface Call {
  token?: string | undefined;
  /** sent as JSON; text is sent as it is */
  body?: unknown;
  headers?: Record<string, string>;
}

type StackOptions = NonNullable<Parameters<typeof startStack>[0]>;

/** A client of a running gate that checks every answer for what applies to all of them. */
export type Api = Awaited<ReturnType<typeof openApi>>;

/**
 * Starts the local stack with the settings of a deployment: the synthesized template, unmodified bundles, real HTTP. Test files start it before they define their tests, so that
 * an error at its start is reported once a file; it stops after them.
 */
export async function startApi(options: StackOptions = {}): Promise<Api> {
  const api = await openApi(options);
  afterAll(api.stop);
  return api;
}

/** The same, for a stack that ends sooner. */
export async function openApi(options: StackOptions = {}) {
  const context = { agentIds: 'bound', ...options.context };
  const stack = await startStack({ port: 0, demo: false, quiet: true, signal: AbortSignal.timeout(120_000), ...options, context });
  const { base_url: baseUrl, admin_token: adminToken } = stack;

  async function call(method: string, path: string, { token, body, headers }: Call = {}): Promise<Answer> {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      redirect: 'manual',
    });
    const text = await response.text();
    const answer = { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
    checkInvariants(answer);
    return answer;
  }

  const asAdmin = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    call(method, path, { token: adminToken, body, headers });

  /** Registers a service under a fresh name. @returns its id */
  const createService = async (): Promise<string> =>
    bodyOf(await asAdmin('POST', '/api/services', serviceNamed(`Service ${randomUUID()}`)), 201).service_id;

  return {
    stack,
    call,
    asAdmin,
    createService,
    /** Registers an intent of a fresh service. @returns the id of the service */
    createIntent: async (intent: { intent_uid: string }): Promise<string> => {
      const serviceId = await createService();
      bodyOf(await asAdmin('POST', `/api/services/${serviceId}/intents`, intent), 201);
      return serviceId;
    },
    /** a PAT for a fresh key */
    obtainPat: async (agentId = `agent-${randomUUID()}`): Promise<string> => {
      const { publicKey, privateKey } = await generateKeyPair('ES256');
      const policy = bodyOf(await call('GET', '/api/policy'));
      const signed_policy = await new CompactSign(Buffer.from(JSON.stringify(policy)))
        .setProtectedHeader({ alg: 'ES256' })
        .sign(privateKey);
      const issued = await call('POST', '/api/pat/issue', {
        body: { agent_id: agentId, signed_policy, agent_public_key: JSON.stringify(await exportJWK(publicKey)) },
      });
      return bodyOf(issued)['proto-pat'];
    },
    execute: (pat: string, intent_uid: string, parameters: unknown, headers: Record<string, string> = {}) =>
      call('POST', '/api/intents/execute', { token: pat, body: { intent_uid, parameters }, headers }),
    executeOverMcp: (pat: string, intent_uid: string, parameters: unknown) => {
      const headers = { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-11-25' };
      return call('POST', '/mcp', { token: pat, body: toolCall('execute_intent', { intent_uid, parameters }), headers });
    },
    stop: stack.stop,
  };
}

/** The body of an answer of this status. With another status, the test reports status and body. */
export function bodyOf({ status, body }: Answer, expected = 200): Answer['body'] {
  expect({ status, body }).toEqual({ status: expected, body });
  return body;
}

/** What applies to every answer, whatever the request. */
export function checkInvariants({ status, headers, body }: Answer): void {
  expect(headers.get('x-request-id')).toBeTruthy();
  if (status < 400) return;
  expect(headers.get('content-type')).toMatch(/^application\/json/);
  // a refusal of MCP, whose request id is among its data
  if (body.jsonrpc) return;
  expect(errorBody.parse(body).error.details?.request_id).toBe(headers.get('x-request-id'));
}

/** The expected refusal, except for its request id. */
export const refusal = (status: number, code: string, message: string, details: Record<string, unknown> = {}) =>
  expect.objectContaining({
    status,
    body: { error: expect.objectContaining({ code, message, details: expect.objectContaining(details) }) },
  });
