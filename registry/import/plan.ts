import { parse, parseJson } from '../../functions/core/json/json.ts';
import { checkIntent } from '../../functions/core/relay/check-intent.ts';
import type { EgressRules } from '../../functions/core/relay/egress.ts';
import { originOf } from '../../functions/core/relay/url-template.ts';
import { ApiError } from '../../functions/core/runtime/api-error.ts';
import type { Issue } from '../../schemas/errors.ts';
import { type IntentInput, intentInput } from '../../schemas/intent.ts';
import type { ServiceInput } from '../../schemas/service.ts';
import type { RegistryContext } from '../api.ts';
import { type Note, Unfit } from './node.ts';
import type { Addresses } from './server.ts';

export interface Skipped {
  operation: string;
  path: string;
  /** completes the sentence "the operation ..." */
  reason: string;
}

export interface ImportPlan {
  service: ServiceInput;
  /** version in the uids; undefined if the document itself has uids */
  version?: string;
  intents: IntentInput[];
  skipped: Skipped[];
  notes: Note[];
  /** descriptions of the credentials that the API requires */
  credentials: string[];
  /** locations of those that a service's credential can fill */
  credentialLocations: CredentialLocation[];
  /** the client as which the gate could obtain tokens, without its id and secret */
  oauth?: SuggestedClient;
}

export interface SuggestedClient {
  grant: 'client' | 'person';
  issuer?: string;
  token_endpoint?: string;
  authorization_endpoint?: string;
  scopes: string[];
}

export interface CredentialLocation {
  /** named like the options of `services credential set` */
  kind: 'header' | 'query';
  name: string;
  /** scheme of Authorization, if it has its own option */
  scheme?: 'bearer' | 'basic';
}

export interface ImportOptions extends Addresses {
  namespace?: string | undefined;
  /** such as `v2`; default: the major version of the document */
  version?: string | undefined;
  serviceName?: string | undefined;
  headers?: Record<string, string> | undefined;
  /** whether header fields common to most calls become header fields of the service */
  findsHeaders?: boolean;
  /** header parameters to leave out */
  ignoreHeaders?: readonly string[] | undefined;
  keepDeprecated?: boolean;
  /** address of the service; default: the document's */
  serviceUrl?: string | undefined;
  /** further origins that intents may call */
  allowedOrigins?: readonly string[];
  rules: EgressRules;
  registryUrl: string;
  progress?: RegistryContext['terminal']['progress'];
}

/**
 * An intent as the registry will store it.
 * @param source - JSON pointer to it in the document
 * @param isAtServiceUrl - false if it is called at a server of its own, so that `--base-url` would not help
 * @throws Unfit if the registry would refuse it, or if its origin is neither that of the service nor allowed
 */
export function checkPlanned(
  candidate: unknown,
  source: string,
  serviceUrl: string,
  options: ImportOptions,
  isAtServiceUrl = true,
): IntentInput {
  const { rules, registryUrl, allowedOrigins = [] } = options;
  const refuse = (issues: readonly Issue[]) =>
    new Unfit(source, `would be refused: ${issues.map(({ path, problem }) => (path === '' ? problem : `${path} ${problem}`)).join('; ')}`);
  try {
    const text = JSON.stringify(parse(intentInput, candidate));
    if (new TextEncoder().encode(text).length > 256 * 1024) throw refuse([{ path: '', problem: 'must have at most 262144 bytes' }]);
    const intent = parseJson(text, { isExact: true }) as unknown as IntentInput;
    checkIntent(intent, rules, registryUrl);
    const home = new URL(options.serviceUrl ?? serviceUrl).origin;
    const origin = originOf(intent.endpoint.url) ?? '';
    if (origin !== home && !allowedOrigins.includes(origin))
      throw new Unfit(source, `is at ${origin}, but the service is at ${home}; --allow-origin ${origin} imports it anyway`);
    return intent;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const issues = error.details.issues as Issue[];
    const isOnlyInsecure = issues.every(({ problem }) => problem.startsWith('must begin with https'));
    if (isOnlyInsecure && isAtServiceUrl && /^http:\/\/[^/]*\.[a-z]/i.test(serviceUrl))
      throw new Unfit(source, `is not at https; if the API supports it, give --base-url ${serviceUrl.replace(/^http/i, 'https')}`);
    throw refuse(issues);
  }
}
