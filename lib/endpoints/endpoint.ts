import type * as z from 'zod';
import type { ErrorCode } from '../../schemas/errors.ts';
import type { JsonSchema } from '../../schemas/openapi.ts';
import type { RequestHeader } from '../documents/request-headers.ts';
import type { Needs } from './needs.ts';

/** An endpoint: its deployment, OpenAPI description and example. */
export interface EndpointRow {
  /** row in the specification's endpoint table (section 4.1); absent for additional endpoints */
  row?: number;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  /** an alias path from the protocol's guides, unless an endpoint has that path */
  alias?: string;
  /** further paths of the same function; `onlyWith` is the setting that enables them */
  further?: readonly { path: string; onlyWith?: 'signIn' }[];
  summary: string;
  description: string;
  credential: 'none' | 'pat' | 'admin';
  /** default 200 */
  success?: 200 | 201 | 204 | 302;
  /** errors besides those of every endpoint (`commonErrors` in `lib/documents/errors.ts`) and those implied by the other members */
  errors?: readonly ErrorCode[];
  /** errors implied by the other members that the endpoint never returns */
  neverErrors?: readonly ErrorCode[];
  /** endpoints whose actions it runs itself; it gets their needs */
  runs?: readonly string[];
  query?: z.ZodObject;
  body?: z.ZodType;
  /** media type, if the body is not JSON */
  bodyType?: string;
  requestHeaders?: readonly RequestHeader[];
  /** body schema; absent if the response has no body; a function if it depends on the protocol's name */
  answer?: z.ZodType | ((protocol: string) => z.ZodType);
  /** of the response, if not JSON */
  mediaType?: string;
  /** of `responseHeaders` in `lib/documents/headers.ts` */
  headers?: readonly string[];
  /** the constant response that API Gateway serves without a function; `further` paths redirect to it (308) */
  constant?: (baseUrl: string) => object;
  /** where API Gateway redirects clients to (302) without a function: those that accept HTML, and others */
  redirects?: { browsers: string; programs: string };
  /** other responses by status; without `answer`, they have no content */
  others?: Readonly<Record<number, OtherAnswer>>;
  needs: Needs;
  /** replaces `needs` if the setting `search` is `opensearch` */
  needsWithCollection?: Needs;
  /** default 10; API Gateway gives up after 29 */
  timeoutSeconds?: number;
  /** default 512 */
  memoryMb?: number;
  example: Example | ((deployment: Deployment) => Example);
}

export interface HeaderRow {
  description: string;
  schema: JsonSchema;
}

export interface OtherAnswer {
  description: string;
  answer?: z.ZodType;
  mediaType?: string;
}

/** A tag's endpoints by name, which is also the name of the file in `functions/` and of the construct. */
export type EndpointGroup = Record<string, EndpointRow>;

/** A request to a gate at `exampleBaseUrl`, after all earlier examples. */
export interface Example {
  path?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
  /** absent if the response has no JSON body */
  answer?: unknown;
}

/** Memory with which a function has one whole vCPU, in megabytes. */
export const wholeProcessorMb = 1_769;

export interface BackgroundFunction {
  /** the name of its file in `functions/` and of its construct */
  name: string;
  summary: string;
  /** runs on this schedule */
  everyMinutes?: number;
  /** runs after each deployment */
  afterDeployment?: true;
  /** started by endpoints asynchronously; `once`: never repeated after a failure */
  isStarted?: true | 'once';
  /** receives these functions' log lines with this message */
  logLines?: { message: string; of: readonly string[] };
  /** runs so often that traces and platform log lines would cost more than its work */
  isQuiet?: true;
  /** the setting that enables it */
  onlyWith?: 'signIn';
  /** whether the deployment has it; default: always */
  isUsed?: (settings: Readonly<Record<string, unknown>>) => boolean;
  needs: Needs;
  timeoutSeconds: number;
  memoryMb: number;
}

/** For documents, pages, and messages of other protocols. */
export const noExample: Example = {};

export interface Deployment {
  protocol: string;
  policy: string;
}

export const answerOf = ({ answer }: Pick<EndpointRow, 'answer'>, protocol: string): z.ZodType | undefined =>
  typeof answer === 'function' ? answer(protocol) : answer;

export const exampleOf = ({ example }: Pick<EndpointRow, 'example'>, deployment: Deployment): Example =>
  typeof example === 'function' ? example(deployment) : example;
