import { ApiError } from '../../../functions/core/api-error.ts';
import { parse, parseJson } from '../../../functions/core/json.ts';
import { checkIntent } from '../../../functions/core/relay/check-intent.ts';
import type { EgressRules } from '../../../functions/core/relay/egress.ts';
import { originOf } from '../../../functions/core/relay/url-template.ts';
import type { Issue } from '../../../schemas/errors.ts';
import { type IntentInput, intentInput } from '../../../schemas/intent.ts';
import type { ServiceInput } from '../../../schemas/service.ts';
import { type Note, Unfit } from './node.ts';
import type { Addresses } from './server.ts';

/** An operation that does not become an intent, and why. */
export interface Skipped {
  /** what people call it, such as `GET /orders` */
  operation: string;
  /** JSON pointer to the obstacle */
  path: string;
  /** ends the sentence "the operation ..." */
  reason: string;
}

/** What an import would register. */
export interface ImportPlan {
  service: ServiceInput;
  /** of the intents, if the document says so; undefined if their uids are given */
  version?: string;
  intents: IntentInput[];
  skipped: Skipped[];
  notes: Note[];
  /** how callers prove themselves to the API, in words */
  credentials: string[];
  /** what callers prove themselves by, as far as a service's credential can be that */
  credentialPlaces: CredentialPlace[];
}

/** Where a value of a credential is sent. */
export interface CredentialPlace {
  /** as the options of `services credential set` are called */
  kind: 'header' | 'query';
  name: string;
  /** of the header field Authorization, if it is one that has an option of its own */
  scheme?: 'bearer' | 'basic';
}

export interface ImportOptions extends Addresses {
  namespace?: string | undefined;
  /** such as `v2`; otherwise the major version of the document */
  version?: string | undefined;
  serviceName?: string | undefined;
  /** header fields that every call carries, by name */
  headers?: Record<string, string> | undefined;
  /** whether header fields that are the same in every call become the service's; only said if its record is made by the import */
  findsHeaders?: boolean;
  /** names of header parameters that are neither needed nor asked for */
  ignoreHeaders?: readonly string[] | undefined;
  /** intents of deprecated operations can still be executed */
  keepDeprecated?: boolean;
  /** address of the service that is imported into; otherwise that of the document */
  serviceUrl?: string | undefined;
  /** other origins than the service's to which intents may lead */
  allowedOrigins?: readonly string[];
  /** the rules by which the registry checks endpoints */
  rules: EgressRules;
  /** the address of the registry itself */
  registryUrl: string;
}

/**
 * An intent in the form in which the registry will keep it.
 * @param place - JSON pointer to what it is made of
 * @param serviceUrl - of the service that it will belong to
 * @throws Unfit if the registry would refuse it, or if it leads to an origin that is neither the service's nor allowed
 */
export function checkPlanned(candidate: unknown, place: string, serviceUrl: string, options: ImportOptions): IntentInput {
  const { rules, registryUrl, allowedOrigins = [] } = options;
  const refuse = (issues: readonly Issue[]) =>
    new Unfit(place, `would be refused: ${issues.map(({ path, problem }) => (path === '' ? problem : `${path} ${problem}`)).join('; ')}`);
  try {
    const text = JSON.stringify(parse(intentInput, candidate));
    if (new TextEncoder().encode(text).length > 256 * 1024) throw refuse([{ path: '', problem: 'must have at most 262144 bytes' }]);
    const intent = parseJson(text, { isExact: true }) as unknown as IntentInput;
    checkIntent(intent, rules, registryUrl);
    const home = new URL(options.serviceUrl ?? serviceUrl).origin;
    const origin = originOf(intent.endpoint.url) ?? '';
    if (origin !== home && !allowedOrigins.includes(origin))
      throw new Unfit(place, `leads to ${origin}, while the service is at ${home}; --allow-origin ${origin} imports it all the same`);
    return intent;
  } catch (error) {
    throw error instanceof ApiError ? refuse(error.details.issues as Issue[]) : error;
  }
}

/** What the work returns; undefined if what it is about is unfit, which is then reported. */
export function planOne<T>(operation: string, skipped: Skipped[], work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Unfit)) throw error;
    skipped.push({ operation, path: error.path, reason: error.message });
    return undefined;
  }
}

/** What concerns several operations is noted once. */
export const distinct = (notes: readonly Note[]): Note[] => [
  ...new Map(notes.map((note) => [`${note.path}\n${note.note}`, note])).values(),
];
