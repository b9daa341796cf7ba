import { ApiError } from '../../../functions/core/api-error.ts';
import { issuesOf, parseJson } from '../../../functions/core/json.ts';
import { checkIntent } from '../../../functions/core/relay/check-intent.ts';
import type { EgressRules } from '../../../functions/core/relay/egress.ts';
import type { Issue } from '../../../schemas/errors.ts';
import { type IntentInput, intentInput } from '../../../schemas/intent.ts';
import type { ServiceInput } from '../../../schemas/service.ts';
import type { CredentialShape } from './credentials.ts';
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
  /** what to set as the service's credential, if the document says how callers prove themselves */
  credential?: CredentialShape | undefined;
  /** header fields that every call carries, by name */
  headers: Record<string, string>;
}

export interface ImportOptions extends Addresses {
  namespace?: string | undefined;
  /** such as `v2`; otherwise the major version of the document */
  version?: string | undefined;
  serviceName?: string | undefined;
  /** header fields that every call carries, by name */
  headers?: Record<string, string> | undefined;
  /** names of header parameters that are neither needed nor asked for */
  ignoreHeaders?: readonly string[] | undefined;
  /** intents of deprecated operations can still be executed */
  keepDeprecated?: boolean;
  /** the rules by which the registry checks endpoints */
  rules: EgressRules;
  /** the address of the registry itself */
  registryUrl: string;
}

/**
 * An intent in the form in which the registry will keep it.
 * @param place - JSON pointer to what it is made of
 * @throws Unfit if the registry would refuse it
 */
export function checkPlanned(candidate: unknown, place: string, { rules, registryUrl }: ImportOptions): IntentInput {
  const refuse = (issues: readonly Issue[]) =>
    new Unfit(place, `would be refused: ${issues.map(({ path, problem }) => (path === '' ? problem : `${path} ${problem}`)).join('; ')}`);
  const parsed = intentInput.safeParse(candidate, { reportInput: true });
  if (!parsed.success) throw refuse(issuesOf(parsed.error));
  const text = JSON.stringify(parsed.data);
  if (Buffer.byteLength(text) > 256 * 1024) throw refuse([{ path: '', problem: 'must have at most 262144 bytes' }]);
  try {
    const intent = parseJson(text) as IntentInput;
    checkIntent(intent, rules, registryUrl);
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
