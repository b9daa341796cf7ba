import QuickLRU from 'quick-lru';
import { digestIntent } from '../../../schemas/intent-digest.ts';
import { compareVersions, isIntentUid, splitIntentUid } from '../../../schemas/intent-uid.ts';
import type { ApiError } from '../api-error.ts';
import { type Key, keys } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { type IntentItem, toIntentRecord } from './intent-item.ts';
import type { IntentRecord, ServiceRecord } from './records.ts';
import { intentChanged } from './refusals.ts';
import { type ServiceItem, toServiceRecord } from './service-item.ts';

/** An intent is live as long as its service is there. */
export interface LiveIntent {
  intent: IntentRecord;
  service: ServiceRecord;
}

/** The entity tag of one view of an intent: it changes with the intent and with its service, whose name it shows. */
export const intentTag = ({ intent, service }: LiveIntent, view: 'details' | 'full'): string => `"${intent.rev}.${service.rev}.${view}"`;

/** The refusal of a request that was written for another state of the intent: its `If-Match` holds neither the digest nor an entity tag. */
export function findMismatch(
  request: { header(name: string): string | undefined; ifMatch(...etags: string[]): boolean },
  live: LiveIntent,
): ApiError | undefined {
  if (request.header('if-match') === undefined) return undefined;
  const digest = digestIntent(live.intent);
  if (request.ifMatch(`"${digest}"`, intentTag(live, 'details'), intentTag(live, 'full'))) return undefined;
  return intentChanged(request.header('if-match')?.trim().replace(/^"|"$/g, '') ?? '', digest);
}

/** Intents, for reading. Only live ones are seen, and drafts only where that is said. */
export function openLiveIntents(table: Pick<Table, 'get' | 'getAll' | 'query'>) {
  /** Which service an intent was last seen in: lets a read ask for both records at once. What it says is always checked. */
  const lastService = new QuickLRU<string, string>({ maxSize: 10_000 });

  /** The intent and its service, and the items of `others`, in one round trip if the service is known. */
  async function findWith(
    uid: string,
    others: readonly Key[] = [],
  ): Promise<{ found: LiveIntent | undefined; others: (Item | undefined)[] }> {
    const guess = lastService.get(uid);
    const [item, ...rest] = await table.getAll([keys.intent(uid), ...others, ...(guess ? [keys.service(guess)] : [])]);
    const read = { found: undefined, others: rest.slice(0, others.length) };
    const intent = item as IntentItem | undefined;
    if (!intent) return read;
    const service = intent.service_id === guess ? rest.at(-1) : await table.get(keys.service(intent.service_id));
    lastService.set(uid, intent.service_id);
    if (!service) return read;
    return { ...read, found: { intent: toIntentRecord(intent), service: toServiceRecord(service as ServiceItem) } };
  }

  const find = async (uid: string): Promise<LiveIntent | undefined> => (isIntentUid(uid) ? (await findWith(uid)).found : undefined);

  return {
    find,
    findWith,

    /** Every live version of the uid's namespace and slug, oldest first, without drafts. */
    async versions(uid: string): Promise<IntentRecord[]> {
      const { items } = await table.query<IntentItem>(keys.intent(uid).pk);
      if (items.length === 0) return [];
      const services = await table.getAll(items.map(({ service_id }) => keys.service(service_id)));
      return items
        .filter((_, index) => services[index] !== undefined)
        .map(toIntentRecord)
        .filter(isPublic)
        .sort((a, b) => compareVersions(splitIntentUid(a.intent_uid).version, splitIntentUid(b.intent_uid).version));
    },

    /** The live intents among some of a service's, in their order, without drafts. */
    async read(uids: readonly string[]): Promise<IntentRecord[]> {
      const items = await table.getAll<IntentItem>(uids.map(keys.intent));
      return items
        .filter((item) => item !== undefined)
        .map(toIntentRecord)
        .filter(isPublic);
    },
  };
}

/** Whether agents may see an intent. */
const isPublic = ({ draft }: Pick<IntentRecord, 'draft'>): boolean => !draft;

export type LiveIntents = ReturnType<typeof openLiveIntents>;
