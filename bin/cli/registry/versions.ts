import { originOf } from '../../../functions/core/relay/url-template.ts';
import type { FullIntent, IntentInput } from '../../../schemas/intent.ts';
import { compareVersions, splitIntentUid } from '../../../schemas/intent-uid.ts';
import { makePathSlug } from '../import/naming.ts';
import type { ImportPlan } from '../import/plan.ts';
import { callOf, pathCallOf } from './calls.ts';
import type { Change, ServiceChanges, Standing } from './compare.ts';
import { findDifferences } from './differences.ts';
import { normalizeIntent } from './normal-form.ts';

type Intents = Standing['intents'];
type Candidate = Pick<FullIntent, 'intent_uid' | 'endpoint'>;

/**
 * The plan with the uids that its operations have already: an operation whose method and address are those of an intent keeps that one's uid, whatever
 * its operationId is now.
 * @param version - the one that was asked for; without it, a new release of an API changes its intents in place of creating others
 */
export function keepUids(planned: ImportPlan, standing: Intents, version?: string): ImportPlan {
  if (planned.version === undefined) return planned;
  const namespaces = new Set(planned.intents.map(({ intent_uid }) => splitIntentUid(intent_uid).namespace));
  const records = [...standing.values()].map(({ record }) => record);
  const others = records.filter(({ intent_uid }) => namespaces.has(splitIntentUid(intent_uid).namespace));
  const kept = version ?? standingVersion(planned, others) ?? planned.version;
  const uidOf = ({ intent_uid }: IntentInput, slug = splitIntentUid(intent_uid).slug) =>
    `${splitIntentUid(intent_uid).namespace}:${slug}:${kept}`;
  const candidates = others.filter(({ intent_uid }) => versionOf(intent_uid) === kept);
  const byCall = Map.groupBy<string, Candidate>(candidates, callOf);
  const byPath = Map.groupBy<string, Candidate>(candidates, pathCallOf);
  const origins = new Set(candidates.map(({ endpoint }) => originOf(endpoint.url)));
  const taken = new Set<string>();
  const take = (uid: string): string | undefined => {
    if (taken.has(uid)) return undefined;
    taken.add(uid);
    return uid;
  };
  // those that have an intent come first, the surest before the others: what is new must not take its uid
  const settled = new Array<string | undefined>(planned.intents.length);
  const settle = (find: (intent: IntentInput) => Candidate[]) => {
    for (const [at, intent] of planned.intents.entries()) {
      const own = find(intent).find(({ intent_uid }) => !taken.has(intent_uid));
      if (settled[at] === undefined && own !== undefined) settled[at] = take(own.intent_uid);
    }
  };
  settle((intent) => (byPath.get(pathCallOf(intent)) ?? []).filter(({ intent_uid }) => intent_uid === uidOf(intent)));
  settle((intent) => byCall.get(callOf(intent)) ?? []);
  // an API that has moved to another host
  settle((intent) => (origins.has(originOf(intent.endpoint.url)) ? [] : (byPath.get(pathCallOf(intent)) ?? [])));
  const intents = planned.intents.map((intent, at) => {
    const { method, url } = intent.endpoint;
    const slug = makePathSlug(method, pathOf(url));
    const uid =
      settled[at] ?? take(uidOf(intent)) ?? take(uidOf(intent, slug)) ?? take(uidOf(intent, `${slug}-${at}`)) ?? intent.intent_uid;
    return { ...intent, intent_uid: uid };
  });
  return { ...planned, intents, version: kept };
}

/**
 * The version that most of the operations have already, as far as it is not deprecated: one intent that was made by hand does not decide for all. Of
 * versions that equally many have, the document's own, else the latest; undefined if none of the operations is there.
 */
function standingVersion({ intents, version = '' }: ImportPlan, standing: readonly FullIntent[]): string | undefined {
  const calls = new Set(intents.map(pathCallOf));
  const names = new Set(intents.map(({ intent_uid }) => withoutVersion(intent_uid)));
  const known = standing.filter((record) => calls.has(pathCallOf(record)) || names.has(withoutVersion(record.intent_uid)));
  const current = known.filter(({ deprecated }) => !deprecated);
  const byVersion = Map.groupBy(current.length > 0 ? current : known, ({ intent_uid }) => versionOf(intent_uid));
  const most = Math.max(...[...byVersion.values()].map(({ length }) => length));
  const first = [...byVersion].filter(([, { length }]) => length === most).map(([one]) => one);
  return first.includes(version) ? version : first.sort((left, right) => compareVersions(right, left))[0];
}

/** The path of a URL template, without its origin and its query. */
const pathOf = (url: string): string => url.replace(/^[^/]*\/\/[^/?#{]*/, '').replace(/[?#].*$|\{[?&].*$/, '');

const withoutVersion = (uid: string): string => uid.slice(0, uid.lastIndexOf(':'));

const versionOf = (uid: string): string => splitIntentUid(uid).version;

/**
 * The changes without the intents of which the wanted ones are another version: these stay, and older ones are marked as deprecated if that was
 * asked for.
 */
export function keepOlder(
  changes: ServiceChanges,
  wanted: readonly IntentInput[],
  standing: Intents,
  isDeprecating: boolean,
): ServiceChanges {
  const others = new Map(wanted.map(({ intent_uid }) => [withoutVersion(intent_uid), versionOf(intent_uid)]));
  const isOtherVersion = (uid: string) => others.has(withoutVersion(uid));
  const isOlder = (uid: string) => compareVersions(versionOf(uid), others.get(withoutVersion(uid)) ?? '') < 0;
  const updates = changes.extra.filter(isOtherVersion).flatMap((uid): Change<IntentInput>[] => {
    const found = standing.get(uid);
    if (!isDeprecating || !isOlder(uid) || found === undefined || found.record.deprecated) return [];
    const before = normalizeIntent(found.record);
    const input = { ...before, deprecated: true };
    return [{ kind: 'update', input, differences: findDifferences(before, input), etag: found.etag }];
  });
  const intents = [...changes.intents, ...updates].sort((left, right) => (left.input.intent_uid < right.input.intent_uid ? -1 : 1));
  return { ...changes, intents, extra: changes.extra.filter((uid) => !isOtherVersion(uid)) };
}
