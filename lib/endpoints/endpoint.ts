import type * as z from 'zod';
import type { ErrorCode } from '../../schemas/errors.ts';
import type { RequestHeader, ResponseHeader } from '../openapi/headers.ts';
import type { Needs } from './needs.ts';

/** An endpoint: its deployment, its OpenAPI description, and an example. */
export interface EndpointRow {
  /** row of the specification's endpoint table (section 4.1); none for additional endpoints */
  row?: number;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  /** an alias that the protocol's guides use, unless an endpoint has that path */
  alias?: string;
  /** further paths of the same function; `onlyWith` names the setting that enables them */
  further?: readonly { path: string; onlyWith?: 'signIn' }[];
  summary: string;
  description: string;
  credential: 'none' | 'pat' | 'admin';
  /** default 200 */
  success?: 200 | 201 | 204 | 302;
  /** refusals besides those of every endpoint (404 for paths, 405, 500, 503), and those that follow from the other members */
  errors?: readonly ErrorCode[];
  /** errors that usually follow from the other members, and that it never answers */
  neverErrors?: readonly ErrorCode[];
  /** endpoints whose actions it runs in its own process, with their needs */
  runs?: readonly string[];
  query?: z.ZodObject;
  body?: z.ZodType;
  /** if the body is not JSON */
  bodyType?: string;
  requestHeaders?: readonly RequestHeader[];
  /** absent if the response has no body; a function if it depends on the protocol's name */
  answer?: z.ZodType | ((protocol: string) => z.ZodType);
  /** if the answer is not JSON */
  mediaType?: string;
  headers?: readonly ResponseHeader[];
  /** a response that is the same for everybody: API Gateway gives it without a function, and redirects further paths (308) */
  constant?: (baseUrl: string) => object;
  /** other responses by status; without content if they have no `answer` */
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

export interface OtherAnswer {
  description: string;
  answer?: z.ZodType;
  mediaType?: string;
}

/** A tag's endpoints by name, which is that of the file in `functions/` and of the Lambda's construct. */
export type EndpointGroup = Record<string, EndpointRow>;

/** A request to a gate at `exampleBaseUrl` that has answered all earlier examples. */
export interface Example {
  path?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
  /** absent if the response has no JSON body */
  answer?: unknown;
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
