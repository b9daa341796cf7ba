import QuickLRU from 'quick-lru';
import { digestIntent, isIntentDigest } from '../../../schemas/intent-digest.ts';
import { compareVersions, isIntentUid, splitIntentUid } from '../../../schemas/intent-uid.ts';
import { judgedIntent } from '../policy/conditions.ts';
import type { Sight } from '../policy/sight.ts';
import { ApiError, invalidParameter } from '../runtime/api-error.ts';
import { type Key, keys } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { type IntentItem, type IntentRecord, type ServiceItem, type ServiceRecord, toIntentRecord, toServiceRecord } from './records.ts';
import { intentChanged, noSuchIntent } from './refusals.ts';

/** An intent and its service: an intent is live as long as its service exists. */
export interface LiveIntent {
  intent: IntentRecord;
  service: ServiceRecord;
  /** what an execution reads with them: the slow calls of the origin, then what a feature has asked for */
  related?: readonly (Item | undefined)[];
}

type RelatingIntent = Pick<IntentRecord, 'service_id' | 'endpoint'>;

const noIntent: RelatingIntent = { service_id: '', endpoint: { url: 'https://none.invalid', method: 'GET', content_type: 'text/plain' } };

/** The refusal if `If-Match` contains neither the intent's digest, with or without quotation marks, nor one of its entity tags. */
export function findMismatch(
  request: { header(name: string): string | undefined; ifMatch(record: IntentRecord, digest: string): boolean },
  { intent }: LiveIntent,
): ApiError | undefined {
  const field = request.header('if-match')?.trim();
  if (field === undefined) return undefined;
  const digest = digestIntent(intent);
  if (request.ifMatch(intent, digest)) return undefined;
  if (!field.startsWith('"') && !isIntentDigest(field))
    return invalidParameter([{ path: '', problem: 'the header If-Match must be the digest of the intent, in quotation marks' }]);
  return intentChanged(field.replace(/^"|"$/g, ''), digest);
}

/**
 * Reads live intents, including drafts except where noted.
 * @param hidesIntents - whether an unknown intent takes the reads of a known one, so that their time does not tell them apart
 */
export function openLiveIntents(table: Pick<Table, 'get' | 'getAll' | 'query'>, hidesIntents = false) {
  /** What the keys of related records depend on, as last read: guesses, which are verified, so that one read can fetch all records. */
  const lastRead = new QuickLRU<string, RelatingIntent>({ maxSize: 10_000 });

  /**
   * Reads an intent with its service and `others`, in one round trip if the guess is right.
   * @param relatedKeysOf - returns the keys of more records to read, which depend on the intent
   */
  async function findWith(
    uid: string,
    others: readonly Key[] = [],
    relatedKeysOf: (intent: RelatingIntent) => readonly Key[] = () => [],
  ): Promise<{ found: LiveIntent | undefined; others: (Item | undefined)[] }> {
    if (!isIntentUid(uid)) return { found: undefined, others: await table.getAll(others) };
    const neededFor = (intent: RelatingIntent | undefined) => (intent ? [keys.service(intent.service_id), ...relatedKeysOf(intent)] : []);
    const guessed = neededFor(lastRead.get(uid));
    const [item, ...rest] = await table.getAll([keys.intent(uid), ...others, ...guessed]);
    const read = { found: undefined, others: rest.slice(0, others.length) };
    if (!item) {
      if (hidesIntents && guessed.length === 0) {
        await table.getAll(neededFor(noIntent));
        lastRead.set(uid, noIntent);
      }
      return read;
    }
    const intent = toIntentRecord(item as IntentItem);
    const needed = neededFor(intent);
    const isRight = needed.every(({ pk, sk }, at) => pk === guessed[at]?.pk && sk === guessed[at].sk);
    const [service, ...related] = isRight ? rest.slice(others.length) : await table.getAll(needed);
    lastRead.set(uid, { service_id: intent.service_id, endpoint: intent.endpoint });
    if (!service) return read;
    return { ...read, found: { intent, service: toServiceRecord(service as ServiceItem), related } };
  }

  const find = async (uid: string): Promise<LiveIntent | undefined> => (isIntentUid(uid) ? (await findWith(uid)).found : undefined);

  return {
    find,
    findWith,

    /** Live versions of the uid's namespace and slug that the caller sees, oldest first, without drafts. */
    async versions(uid: string, sight?: Sight): Promise<IntentRecord[]> {
      const { items: all } = await table.query<IntentItem>(keys.intent(uid).pk);
      const items = all.filter(({ intent_uid }) => !sight || sight.covers(intent_uid));
      const read = hidesIntents && items.length === 0 ? [noIntent] : items;
      const services = await table.getAll(read.map(({ service_id }) => keys.service(service_id)));
      return items
        .map((item, at) => ({ intent: toIntentRecord(item), service: services[at] as ServiceItem | undefined }))
        .filter(
          (found): found is LiveIntent & { service: ServiceItem } => found.service !== undefined && isSeen(found as LiveIntent, sight),
        )
        .map(({ intent }) => intent)
        .filter(isPublic)
        .sort((a, b) => compareVersions(splitIntentUid(a.intent_uid).version, splitIntentUid(b.intent_uid).version));
    },

    /** The intents with these uids, in order. Does not check that their services exist. */
    async read(uids: readonly string[], isWithDrafts = false): Promise<IntentRecord[]> {
      const items = await table.getAll<IntentItem>(uids.map(keys.intent));
      return items
        .filter((item) => item !== undefined)
        .map(toIntentRecord)
        .filter((intent) => isWithDrafts || isPublic(intent));
    },
  };
}

/** @param sight - default: sees everything */
export const isSeen = ({ intent, service }: LiveIntent, sight: Sight | undefined): boolean =>
  !sight || sight.shows(intent.intent_uid, () => judgedIntent(intent, service));

const isPublic = ({ draft }: Pick<IntentRecord, 'draft'>): boolean => !draft;

export type LiveIntents = ReturnType<typeof openLiveIntents>;

/**
 * Requires an intent that may be executed. A draft counts as missing, and so does what the caller does not see.
 * @throws ApiError NOT_FOUND, VERSION_CONFLICT if only other versions exist, INTENT_DEPRECATED (specification section 9)
 */
export async function requireIntent(
  live: LiveIntent | undefined,
  intentUid: string,
  intents: Pick<LiveIntents, 'versions'>,
  sight?: Sight,
): Promise<LiveIntent> {
  const found = live && isSeen(live, sight) ? live : undefined;
  const isDraft = found?.intent.draft === true;
  if (found && !isDraft && !found.intent.deprecated) return found;
  const usable = (await intents.versions(intentUid, sight)).filter(({ deprecated }) => !deprecated);
  if (found && !isDraft) throw deprecated(intentUid, usable);
  if (usable.length === 0) throw noSuchIntent();
  throw new ApiError('VERSION_CONFLICT', 'This version of the intent does not exist. Execute one of details.supported_versions.', {
    details: { supported_versions: usable.map(({ intent_uid }) => splitIntentUid(intent_uid).version) },
  });
}

/** How soon a paused service is worth another attempt, in seconds. */
const pausedRetrySeconds = 300;

/** @throws ApiError SERVICE_UNAVAILABLE if an admin has paused the service, which does not count as a failure of the gate */
export function requireNotPaused({ service }: LiveIntent): void {
  if (!service.paused) return;
  throw new ApiError(
    'SERVICE_UNAVAILABLE',
    'An admin has paused this service. Nothing was sent. Ask the operators of this gate when it will run again, or find another intent.',
    {
      details: { reason: 'paused', outcome: 'not_sent' },
      headers: { 'Retry-After': String(pausedRetrySeconds) },
      fault: 'upstream',
    },
  );
}

/** @throws ApiError SERVICE_UNAVAILABLE if what the call carries is no longer the credential of its service */
export function requireSameCredential({ service }: LiveIntent, { service: first }: LiveIntent): void {
  if (service.credential?.version === first.credential?.version) return;
  throw new ApiError(
    'SERVICE_UNAVAILABLE',
    'The credential of the service has just changed. Nothing was sent; try again after Retry-After.',
    { details: { outcome: 'not_sent' }, headers: { 'Retry-After': '1' }, fault: 'upstream' },
  );
}

function deprecated(intentUid: string, usable: { intent_uid: string }[]): ApiError {
  const { version } = splitIntentUid(intentUid);
  const successor = usable.findLast(({ intent_uid }) => compareVersions(splitIntentUid(intent_uid).version, version) > 0)?.intent_uid;
  const next = successor ? 'Execute details.successor instead.' : 'Find another one with GET /api/intents/search.';
  return new ApiError('INTENT_DEPRECATED', `The intent is deprecated and no longer executed. ${next}`, {
    details: successor ? { successor } : {},
  });
}
