import type * as z from 'zod';
import type { PendingExecution } from '../../schemas/deferred.ts';
import type { ApiRequest } from '../core/http/request.ts';
import type { JsonObject } from '../core/json/json.ts';
import type { ClientCapabilities } from './client-capabilities.ts';

/** A deferred call. */
export interface PendingCall {
  executionId: string;
  state: PendingExecution;
  /** the idempotency key under which the same call may be sent again; undefined if it follows from the call, so that the client need not send it */
  key: string | undefined;
  /** whether the call used the connection's PAT, so that later requests of the connection can read it */
  usesConnectionPat: boolean;
}

/** A tool result: structured data, plus a text summary where the data alone would not be clear. */
export interface ToolOutput {
  data: object;
  text?: string;
  /** remarks on the data, in sentences */
  remarks?: string[];
  /** headers of the answer, some of which go into the `_meta` of the result */
  headers?: Record<string, string> | undefined;
  /** set if the call is deferred */
  pending?: PendingCall;
}

/** MCP's hints about a tool; a host must not rely on them. */
export interface ToolAnnotations {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

export interface Tool {
  name: string;
  title: string;
  description: string;
  annotations: ToolAnnotations;
  input: z.ZodObject;
  /** whether its calls can be deferred */
  isDeferrable?: boolean;
  /** @throws ApiError */
  run(args: JsonObject, request: ApiRequest, client: ClientCapabilities): Promise<ToolOutput>;
}
