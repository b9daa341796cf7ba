/**
 * How an import treats registered intents. A renamed operation keeps its uid, because it is recognised by method and address or, if the API has moved,
 * by method and path ({@link keepUids}).
 * Intents of other versions ({@link keepOtherVersions}) and of skipped operations ({@link keepSkipped}) are kept. `document-rule.ts` decides which members of a
 * record change.
 */
import { originOf } from '../functions/core/relay/url-template.ts';
import type { FullIntent, IntentInput } from '../schemas/intent.ts';
import { compareVersions, splitIntentUid } from '../schemas/intent-uid.ts';
import { callOf, pathCallOf } from './calls.ts';
import type { Change, Registered, ServiceChanges } from './compare.ts';
import { findDifferences } from './differences.ts';
import { makePathSlug } from './import/naming.ts';
import type { ImportPlan } from './import/plan.ts';
import { encodeLiteral } from './import/text.ts';
import { normalizeIntent } from './normal-form.ts';

type Intents = Registered['intents'];
type Candidate = Pick<FullIntent, 'intent_uid' | 'endpoint'>;

/**
 * Moves the plan to the namespace in which most of its operations are registered, unless one of them is already registered in the plan's own. For
 * imports whose admin gave no namespace: the default, the host of the API, would register every operation a second time.
 */
export function keepNamespace(planned: ImportPlan, registered: Intents): ImportPlan {
  if (planned.version === undefined) return planned;
  const calls = new Set(planned.intents.map(callOf));
  const uids = [...registered.values()].flatMap(({ record }) => (calls.has(callOf(record)) ? [record.intent_uid] : []));
  const byNamespace = [...Map.groupBy(uids, (uid) => splitIntentUid(uid).namespace)];
  const [[kept] = []] = byNamespace.sort(([, left], [, right]) => right.length - left.length);
  const isOwn = planned.intents.some(({ intent_uid }) => byNamespace.some(([one]) => one === splitIntentUid(intent_uid).namespace));
  if (kept === undefined || isOwn) return planned;
  const rename = (uid: string) => kept + uid.slice(uid.indexOf(':'));
  return { ...planned, intents: planned.intents.map((intent) => ({ ...intent, intent_uid: rename(intent.intent_uid) })) };
}

/**
 * The plan with uids of existing intents: an operation keeps the uid of the intent with the same method and address, even if its operationId,
 * or just its host, has changed. `compare-document.ts` calls it before it compares.
 * @param version - requested by the admin; by default, a new release of an API updates its intents instead of creating others
 */
export function keepUids(planned: ImportPlan, registered: Intents, version?: string): ImportPlan {
  if (planned.version === undefined) return planned;
  const namespaces = new Set(planned.intents.map(({ intent_uid }) => splitIntentUid(intent_uid).namespace));
  const records = [...registered.values()].map(({ record }) => record);
  const others = records.filter(({ intent_uid }) => namespaces.has(splitIntentUid(intent_uid).namespace));
  const kept = version ?? registeredVersion(planned, others) ?? planned.version;
  const uidOf = ({ intent_uid }: IntentInput, slug = splitIntentUid(intent_uid).slug) =>
    `${splitIntentUid(intent_uid).namespace}:${slug}:${kept}`;
  const candidates = others.filter(({ intent_uid }) => versionOf(intent_uid) === kept);
  const byCall = Map.groupBy<string, Candidate>(candidates, callOf);
  const byPath = Map.groupBy<string, Candidate>(candidates, pathCallOf);
  const origins = new Set(candidates.map(({ endpoint }) => originOf(endpoint.url)));
  const used = new Set<string>();
  const useOnce = (uid: string): string | undefined => {
    if (used.has(uid)) return undefined;
    used.add(uid);
    return uid;
  };
  // match existing intents first, surest match first, so that new operations cannot take their uids
  const existing = new Array<string | undefined>(planned.intents.length);
  const matchBy = (find: (intent: IntentInput) => Candidate[]) => {
    for (const [at, intent] of planned.intents.entries()) {
      const match = find(intent).find(({ intent_uid }) => !used.has(intent_uid));
      if (existing[at] === undefined && match !== undefined) existing[at] = useOnce(match.intent_uid);
    }
  };
  matchBy((intent) => (byPath.get(pathCallOf(intent)) ?? []).filter(({ intent_uid }) => intent_uid === uidOf(intent)));
  matchBy((intent) => byCall.get(callOf(intent)) ?? []);
  // the API has moved to another host
  matchBy((intent) => (origins.has(originOf(intent.endpoint.url)) ? [] : (byPath.get(pathCallOf(intent)) ?? [])));
  const intents = planned.intents.map((intent, at) => {
    const { method, url } = intent.endpoint;
    const slug = makePathSlug(method, pathOf(url));
    const uid =
      existing[at] ??
      useOnce(uidOf(intent)) ??
      useOnce(uidOf(intent, slug)) ??
      useOnce(uidOf(intent, `${slug}-${at}`)) ??
      intent.intent_uid;
    return { ...intent, intent_uid: uid };
  });
  return { ...planned, intents, version: kept };
}

/**
 * The registered version of most operations, ignoring deprecated intents. In a tie, the version of the document, else the latest; undefined if no
 * operation is registered.
 */
function registeredVersion({ intents, version = '' }: ImportPlan, registered: readonly FullIntent[]): string | undefined {
  const calls = new Set(intents.map(pathCallOf));
  const names = new Set(intents.map(({ intent_uid }) => withoutVersion(intent_uid)));
  const known = registered.filter((record) => calls.has(pathCallOf(record)) || names.has(withoutVersion(record.intent_uid)));
  const current = known.filter(({ deprecated }) => !deprecated);
  const byVersion = Map.groupBy(current.length > 0 ? current : known, ({ intent_uid }) => versionOf(intent_uid));
  const most = Math.max(...[...byVersion.values()].map(({ length }) => length));
  const first = [...byVersion].filter(([, { length }]) => length === most).map(([one]) => one);
  return first.includes(version) ? version : first.sort((left, right) => compareVersions(right, left))[0];
}

const pathOf = (url: string): string => url.replace(/^[^/]*\/\/[^/?#{]*/, '').replace(/[?#].*$|\{[?&].*$/, '');

const withoutVersion = (uid: string): string => uid.slice(0, uid.lastIndexOf(':'));

const versionOf = (uid: string): string => splitIntentUid(uid).version;

/** The call of an intent on any host, ignoring a version in its path. */
const unversionedCallOf = (intent: Candidate): string => pathCallOf(intent).replace(/\/v\d+(\.\d+)*(?=[/?#]|$)/gi, '');

/** Keeps other versions of wanted intents, matched by slug or call, from being removed, and optionally deprecates older ones. */
export function keepOtherVersions(
  changes: ServiceChanges,
  wanted: readonly IntentInput[],
  registered: Intents,
  isDeprecating: boolean,
): ServiceChanges {
  const bySlug = Map.groupBy(wanted, ({ intent_uid }) => withoutVersion(intent_uid));
  const byCall = Map.groupBy(wanted, unversionedCallOf);
  const steps = new Map(
    changes.unwanted.map((uid) => {
      const record = registered.get(uid)?.record;
      const related = [...(bySlug.get(withoutVersion(uid)) ?? []), ...((record && byCall.get(unversionedCallOf(record))) ?? [])];
      return [uid, related.map(({ intent_uid }) => compareVersions(versionOf(uid), versionOf(intent_uid)))];
    }),
  );
  const isOtherVersion = (uid: string) => steps.get(uid)?.some((step) => step !== 0);
  const isOlder = (uid: string) => steps.get(uid)?.some((step) => step < 0);
  const updates = changes.unwanted.filter(isOlder).flatMap((uid): Change<IntentInput>[] => {
    const found = registered.get(uid);
    if (!isDeprecating || found === undefined || found.record.deprecated) return [];
    const before = normalizeIntent(found.record);
    const input = { ...before, deprecated: true };
    return [{ kind: 'update', input, differences: findDifferences(before, input), etag: found.etag }];
  });
  const intents = [...changes.intents, ...updates].sort((left, right) => (left.input.intent_uid < right.input.intent_uid ? -1 : 1));
  return { ...changes, intents, unwanted: changes.unwanted.filter((uid) => !isOtherVersion(uid)) };
}

/** Keeps intents of skipped operations from being removed, matched by uid, or by method and path. */
export function keepSkipped(changes: ServiceChanges, { skipped, service }: Pick<ImportPlan, 'skipped' | 'service'>, registered: Intents) {
  const base = new URL(service.service_url).pathname.replace(/\/$/, '');
  const isSkipped = (uid: string): boolean => {
    const record = registered.get(uid)?.record;
    const tool = record?.endpoint.mcp?.tool;
    return skipped.some(
      ({ operation }) =>
        operation === uid || operation === tool || (record !== undefined && tool === undefined && isCalledBy(operation, record, base)),
    );
  };
  return { ...changes, unwanted: changes.unwanted.filter((uid) => !isSkipped(uid)) };
}

/**
 * @param operation - such as `GET /orders/{id}`; a path alone means all of its operations
 * @param base - the path of the API's address. Operations with their own server are matched by the end of their path
 */
function isCalledBy(operation: string, intent: Candidate, base: string): boolean {
  const written = operation.slice(operation.indexOf('/')).replace(/[?#].*$/, '');
  const path = written.replace(/\{[^{}]*\}|[^{}]+/g, (part) => (part.startsWith('{') ? '{}' : encodeLiteral(part)));
  const [method = '', called = ''] = pathCallOf(intent)
    .replace(/[?#].*$/, '')
    .split(' ');
  const before = called.slice(0, -path.length);
  const isOfMethod = operation.startsWith('/') || operation.startsWith(`${method} `);
  return isOfMethod && called.endsWith(path) && (before === base || !before.startsWith(base));
}
