import type * as z from 'zod';
import type { ErrorCode } from '../../schemas/errors.ts';
import type { JsonSchema } from '../../schemas/openapi.ts';
import type { Needs } from './needs.ts';

/** A metric of the lines that a function logs. */
export interface LogMetric {
  metric: string;
  /** of CloudWatch Logs: which lines */
  pattern: string;
  /** field with the value; default: lines are counted */
  value?: string;
  /** value of minutes in which no line matches: it tells a function that always fails from one that never ran */
  defaultValue?: number;
}

/** An alarm, which fires if its metric is above or below a bound. */
export interface AlarmRule {
  above?: number;
  below?: number;
  /** consecutive periods that must breach; default: 1 */
  periods?: number;
  /** also alarms when a metric stops reporting; a metric without any data belongs to a new deployment */
  orSilent?: true;
  description: string;
}

interface Watched {
  /** by the names of their filters; refusals need none, because their lines contain the metric (`functions/core/http/log-answer.ts`) */
  logMetrics?: Readonly<Record<string, LogMetric>>;
  /**
   * By name. Failed runs are counted where no response or missing metric would reveal them; `slowest` is the time that 1 % of runs exceed; other metrics
   * are those of the log: their sum, or the lowest value, of five minutes unless `minutes` says otherwise.
   */
  alarms?: Readonly<
    Record<string, AlarmRule & { metric: 'failedRuns' | 'slowest' | { sum: string } | { lowest: string }; minutes?: number }>
  >;
  /** the function executes intents: a setting determines its memory, another its concurrency, and it logs a line per execution; prefix of its alarm */
  executionAlarms?: string;
}

export interface FurtherPath {
  path: string;
  /** the setting that enables it */
  onlyWith?: string;
  authorizer?: Authorizer;
}

/** Lets API Gateway refuse requests without a token itself. */
export interface Authorizer {
  /** of the function that admits the others */
  name: string;
  /** the `WWW-Authenticate` of the refusal */
  challengeOf: (baseUrl: string) => string;
  /** its body, which cannot repeat the id of the request */
  refusalOf: (requestId: string) => object;
}

/** A tag of the OpenAPI document. */
export interface Tag {
  name: string;
  description: string;
}

/** Errors of every endpoint: API Gateway's limit and timeout, an internal error, an unavailable dependency. */
export const commonErrors: ErrorCode[] = ['TOO_MANY_REQUESTS', 'INTERNAL_SERVER_ERROR', 'SERVICE_UNAVAILABLE', 'GATEWAY_TIMEOUT'];

/** An endpoint: its deployment, OpenAPI description and example. */
export interface EndpointRow extends Watched {
  /** row in the specification's endpoint table (section 4.1); absent for additional endpoints */
  specRow?: number;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  /** an alias path from the protocol's guides, unless an endpoint has that path */
  alias?: string;
  /** further paths of the same function */
  furtherPaths?: readonly FurtherPath[];
  summary: string;
  description: string;
  credential: 'none' | 'pat' | 'admin';
  /** default 200; of DELETE 204 */
  success?: 200 | 201 | 204 | 302;
  /** errors besides those of every endpoint (`commonErrors`) and those implied by the other members */
  errors?: readonly ErrorCode[];
  /** errors implied by the other members that the endpoint never returns */
  neverErrors?: readonly ErrorCode[];
  /** endpoints whose actions it runs itself; it gets their needs */
  runs?: readonly string[];
  query?: z.ZodObject;
  body?: z.ZodType;
  /** media type, if the body is not JSON */
  bodyType?: string;
  requestHeaders?: readonly string[];
  /** further header fields that pages may send (CORS) */
  browserHeaders?: readonly string[];
  /** body schema; absent if the response has no body; a function if it depends on the protocol's name */
  answer?: z.ZodType | ((protocol: string) => z.ZodType);
  /** of the response, if not JSON */
  mediaType?: string;
  headers?: readonly string[];
  /** the constant response that API Gateway serves without a function; `furtherPaths` redirect to it (308) */
  constant?: (baseUrl: string) => object;
  /** where API Gateway redirects clients to (302) without a function: those that accept HTML, and others */
  redirects?: { browsers: string; programs: string };
  /** other responses by status; without `answer`, they have no content */
  otherAnswers?: Readonly<Record<number, OtherAnswer>>;
  /** instead of the settings `requestsPerSecond` and `burst` */
  throttle?: { requestsPerSecond: number; burst: number };
  needs: Needs;
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

/** A tag's endpoints by name, which is also the name of the file in `functions/`, or in its feature's folder there, and of the construct. */
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

export interface BackgroundFunction extends Watched {
  /** the name of its file in `functions/` and of its construct */
  name: string;
  summary: string;
  /** runs on this schedule */
  everyMinutes?: number;
  /** runs after each deployment */
  afterDeployment?: true;
  /** started by endpoints asynchronously; `once`: never repeated after a failure */
  isStarted?: true | 'once';
  /** receives the log lines with this message of all functions that execute intents */
  logLines?: string;
  /** runs so often that traces and platform log lines would cost more than its work */
  isQuiet?: true;
  /** the setting that enables it */
  onlyWith?: string;
  /** whether the deployment has it; default: always */
  isUsed?: (settings: Readonly<Record<string, unknown>>) => boolean;
  needs: Needs;
  timeoutSeconds: number;
  memoryMb: number;
}

/** PAT requests that fail because of KMS or the table. */
export const issueFailures: LogMetric = { metric: 'IssueFailures', pattern: '($.message = "answered") && ($.status >= 500)' };

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
