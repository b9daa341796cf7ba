import type * as z from 'zod';
import type { PendingExecution } from '../../../schemas/deferred.ts';
import type { ApiRequest } from '../http/request.ts';
import type { JsonObject } from '../json.ts';
import type { Abilities } from './abilities.ts';

/** How a call has ended, as the result of its tool. */
export interface Ended {
  result: object;
  /** of a refusal */
  message?: string;
}

/** A call that is made later. */
export interface PendingCall {
  executionId: string;
  state: PendingExecution;
  /** the idempotency key under which the same call may be sent again */
  key: string;
  /** whether the PAT is that of the connection, so that its later requests may ask for the call */
  isOfConnection: boolean;
  /** whether the caller does not want to wait */
  isAsked: boolean;
  /** Reads its outcome; undefined if it has none yet. */
  readEnd(): Promise<Ended | undefined>;
}

/** The result of a tool: data and, if the data do not speak for themselves, a text. */
export interface ToolOutput {
  data: object;
  text?: string;
  /** remarks on the data, in sentences */
  remarks?: string[];
  /** headers of the answer, some of which go into the `_meta` of the result */
  headers?: Record<string, string> | undefined;
  /** the call is made later */
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
  /** what it does may be done later */
  isDeferrable?: boolean;
  /** @throws ApiError */
  run(args: JsonObject, request: ApiRequest, client: Abilities): Promise<ToolOutput>;
}
