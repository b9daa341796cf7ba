import type { IntentInput } from '../../../schemas/intent.ts';
import { compareVersions, splitIntentUid } from '../../../schemas/intent-uid.ts';
import type { RegistryContext } from '../context.ts';
import type { ImportPlan } from '../import/plan.ts';
import type { Change, ServiceChanges } from './compare.ts';
import { withProgress } from './concurrently.ts';
import { findDifferences } from './differences.ts';
import { normalizeIntent } from './normal-form.ts';
import { findIntent } from './read.ts';

/**
 * The plan with the version that the service's intents have already, so that a new release of an API changes its intents in place of creating others.
 * @param standing - uids of the service's intents
 */
export function keepVersion(plan: ImportPlan, standing: readonly string[]): ImportPlan {
  const namespaces = new Set(plan.intents.map(({ intent_uid }) => splitIntentUid(intent_uid).namespace));
  const [kept] = standing
    .map(splitIntentUid)
    .filter(({ namespace }) => namespaces.has(namespace))
    .map(({ version }) => version)
    .sort((left, right) => compareVersions(right, left));
  if (plan.version === undefined || kept === undefined || kept === plan.version) return plan;
  const intents = plan.intents.map((intent) => {
    const { namespace, slug } = splitIntentUid(intent.intent_uid);
    return { ...intent, intent_uid: `${namespace}:${slug}:${kept}` };
  });
  return { ...plan, intents, version: kept };
}

const withoutVersion = (uid: string): string => uid.slice(0, uid.lastIndexOf(':'));

/** The changes, with those by which intents of other versions become deprecated if they have a successor among the wanted ones. */
export async function deprecateOlder(
  { api, terminal }: RegistryContext,
  changes: ServiceChanges,
  wanted: readonly IntentInput[],
  concurrency: number,
): Promise<ServiceChanges> {
  const successors = new Set(wanted.map(({ intent_uid }) => withoutVersion(intent_uid)));
  const older = changes.extra.filter((uid) => successors.has(withoutVersion(uid)));
  const updates: Change<IntentInput>[] = [];
  await withProgress(terminal, 'Reading', older, concurrency, async (uid) => {
    const found = await findIntent(api, uid);
    if (found === undefined || found.record.deprecated) return;
    const before = normalizeIntent(found.record);
    const input = { ...before, deprecated: true };
    updates.push({ kind: 'update', input, differences: findDifferences(before, input), etag: found.etag, standing: before });
  });
  const settled = new Set(older);
  const intents = [...changes.intents, ...updates].sort((left, right) => (left.input.intent_uid < right.input.intent_uid ? -1 : 1));
  return { ...changes, intents, extra: changes.extra.filter((uid) => !settled.has(uid)) };
}
