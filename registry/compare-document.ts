import type { RegistryContext } from './api.ts';
import { compareService, readRegistered, type ServiceChanges, type Wanted } from './compare.ts';
import { openHeaders } from './document-rule.ts';
import type { ImportPlan } from './import/plan.ts';
import { keepNamespace, keepOtherVersions, keepSkipped, keepUids } from './keep-uids.ts';

interface DocumentChoices extends Pick<Wanted, 'into' | 'isNamed'> {
  headers?: Record<string, string>;
  /** as requested; see {@link keepUids} */
  version?: string | undefined;
  /** as requested; see {@link keepNamespace} */
  namespace?: string | undefined;
  isDraft?: boolean | undefined;
  isDeprecating?: boolean | undefined;
  /** see {@link compareService} */
  isThorough: boolean;
  concurrency: number;
}

/**
 * Compares a document with the registry. Changes nothing.
 * @param planWith - plans the document, with these header fields sent with every call
 */
export async function compareDocument<Plan extends ImportPlan>(
  context: RegistryContext,
  planWith: (headers: Record<string, string>) => Plan | Promise<Plan>,
  { into, headers = {}, version, namespace, isNamed = false, isDraft, isDeprecating = false, isThorough, concurrency }: DocumentChoices,
): Promise<{ planned: Plan; plan: ImportPlan; changes: ServiceChanges }> {
  const first = await planWith(into?.headers ?? headers);
  const registered = await readRegistered(context, { ...first, into, isOfDocument: true });
  const headersKept = openHeaders(first.service, registered.service?.record);
  const planned = into === undefined && Object.keys(headersKept).length > 0 ? await planWith({ ...headersKept, ...headers }) : first;
  const placed = namespace === undefined ? keepNamespace(planned, registered.intents) : planned;
  const plan = keepUids(placed, registered.intents, version);
  const intents = isDraft ? plan.intents.map((intent) => ({ ...intent, draft: true })) : plan.intents;
  const wanted = { service: first.service, intents, into, isOfDocument: true, isNamed };
  const compared = await compareService(context, wanted, concurrency, isThorough, registered);
  const kept = keepSkipped(compared, plan, registered.intents);
  return { planned, plan, changes: keepOtherVersions(kept, plan.intents, registered.intents, isDeprecating) };
}
