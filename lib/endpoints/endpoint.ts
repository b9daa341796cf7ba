import type * as z from 'zod';
import type { ErrorCode } from '../../schemas/errors.ts';
import type { RequestHeader, ResponseHeader } from '../openapi/headers.ts';
import type { Needs } from './needs.ts';

/** An endpoint: what is deployed for it, what the OpenAPI document says about it, and an example. */
export interface EndpointRow {
  /** row of the specification's endpoint table (section 4.1); none for additional endpoints */
  row?: number;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  /** a further path, at which the protocol's guides look for it, unless an endpoint has that path */
  alias?: string;
  /** further paths of the same function, which tells them apart; with `onlyWith`, there only if the setting of that name is made */
  further?: readonly { path: string; onlyWith?: 'signIn' }[];
  summary: string;
  description: string;
  credential: 'none' | 'pat' | 'admin';
  /** 200 if left out */
  success?: 200 | 201 | 204 | 302;
  /** refusals besides those that every endpoint has (404 for paths, 405, 500, 503), and those that follow from the other members */
  errors?: readonly ErrorCode[];
  /** endpoints whose actions it runs in its own process: it needs what they need, besides its own */
  runs?: readonly string[];
  query?: z.ZodObject;
  body?: z.ZodType;
  /** if the body is not JSON */
  bodyType?: string;
  requestHeaders?: readonly RequestHeader[];
  /** left out if the answer has no body; made from the name of the protocol if it depends on that */
  answer?: z.ZodType | ((protocol: string) => z.ZodType);
  /** if the answer is not JSON */
  mediaType?: string;
  headers?: readonly ResponseHeader[];
  /** the whole answer, where it is the same for everybody: API Gateway gives it without a function, and leads from further paths to the path (308) */
  constant?: (baseUrl: string) => object;
  /** answers of a form that no other endpoint has, by status; without content if they have no `answer` */
  others?: Readonly<Record<number, OtherAnswer>>;
  needs: Needs;
  /** what it needs instead if the setting `search` is `opensearch` */
  needsWithCollection?: Needs;
  /** longest run in seconds, 10 if left out; API Gateway gives up after 29 */
  timeoutSeconds?: number;
  /** 512 if left out */
  memoryMb?: number;
  example: Example | ((deployment: Deployment) => Example);
}

export interface OtherAnswer {
  description: string;
  answer?: z.ZodType;
  mediaType?: string;
}

/** The endpoints of a tag by their names: the file in `functions/`, and the name of the Lambda's construct. */
export type EndpointGroup = Record<string, EndpointRow>;

/** A request that is answered as shown by a gate at `exampleBaseUrl` that has answered the examples before it. */
export interface Example {
  path?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
  /** left out if the answer has no JSON body */
  answer?: unknown;
}

/** For an endpoint whose answer is a document or page of its own, or a message of another protocol. */
export const noExample: Example = {};

/** What examples depend on. */
export interface Deployment {
  /** what replaces `proto` */
  protocol: string;
  /** the policy file */
  policy: string;
}

/** The schema of an endpoint's answer. */
export const answerOf = ({ answer }: Pick<EndpointRow, 'answer'>, protocol: string): z.ZodType | undefined =>
  typeof answer === 'function' ? answer(protocol) : answer;

/** The example of an endpoint. */
export const exampleOf = ({ example }: Pick<EndpointRow, 'example'>, deployment: Deployment): Example =>
  typeof example === 'function' ? example(deployment) : example;
