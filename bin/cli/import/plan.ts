import { ApiError } from '../../../functions/core/api-error.ts';
import { issuesOf, parseJson } from '../../../functions/core/json.ts';
import { checkIntent } from '../../../functions/core/relay/check-intent.ts';
import type { EgressRules } from '../../../functions/core/relay/egress.ts';
import type { Issue } from '../../../schemas/errors.ts';
import { type IntentInput, intentInput } from '../../../schemas/intent.ts';
import type { ServiceInput } from '../../../schemas/service.ts';
import type { Note } from './node.ts';
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
  intents: IntentInput[];
  skipped: Skipped[];
  notes: Note[];
  /** how callers prove themselves to the API, in words */
  credentials: string[];
}

export interface ImportOptions extends Addresses {
  namespace?: string | undefined;
  /** such as `v2`; otherwise the major version of the document */
  version?: string | undefined;
  serviceName?: string | undefined;
  /** intents of deprecated operations can still be executed */
  keepDeprecated?: boolean;
  /** the rules by which the registry checks endpoints */
  rules: EgressRules;
  /** the address of the registry itself */
  registryUrl: string;
}

/** What the registry would refuse in an intent; an accepted intent is returned in the form in which the registry will keep it. */
export function checkPlanned(candidate: unknown, { rules, registryUrl }: ImportOptions): { intent: IntentInput } | { issues: Issue[] } {
  const parsed = intentInput.safeParse(candidate, { reportInput: true });
  if (!parsed.success) return { issues: issuesOf(parsed.error) };
  try {
    const text = JSON.stringify(parsed.data);
    if (Buffer.byteLength(text) > 256 * 1024) return { issues: [{ path: '', problem: 'must have at most 262144 bytes' }] };
    const intent = parseJson(text) as IntentInput;
    checkIntent(intent, rules, registryUrl);
    return { intent };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { issues: error.details.issues as Issue[] };
  }
}

export const describeIssues = (issues: readonly Issue[]): string =>
  issues.map(({ path, problem }) => (path === '' ? problem : `${path} ${problem}`)).join('; ');

/** What concerns several operations is noted once. */
export const distinct = (notes: readonly Note[]): Note[] => [
  ...new Map(notes.map((note) => [`${note.path}\n${note.note}`, note])).values(),
];
