import { Refusal } from '../client/errors.ts';
import { type ChangeDetails, changeDetails, changePage, type LoggedChange, recordVersions } from '../schemas/changes.ts';
import { intentsChanged } from '../schemas/intent-changes.ts';
import type { ServiceInput } from '../schemas/service.ts';
import { type Api, readAnswer } from './api.ts';
import { type Difference, findDifferences } from './differences.ts';
import { CliFailure } from './failure.ts';
import { publishPolicy, readVersion } from './policy/publish.ts';
import { findIntent, listAllIntents, readPages, servicePath } from './read.ts';
import { replaceService } from './save.ts';

/** A record of a change, with its differences if both versions were kept. */
export type ChangedRecord = LoggedChange & { differences?: Difference[] };

/** @throws Refusal NOT_FOUND if there is no such entry, or it has expired */
export const readChange = async (api: Pick<Api, 'call'>, seq: number | string): Promise<ChangeDetails> =>
  readAnswer(changeDetails, await api.call('GET', `/api/changes/${encodeURIComponent(seq)}`, { isAdmin: true }));

export function compareVersions({ entry, versions = [] }: ChangeDetails): ChangedRecord[] {
  return entry.changes.map((change) => {
    const own = versions.find(({ kind, id }) => kind === change.kind && id === change.id);
    return { ...change, ...(own && { differences: findDifferences(own.before, own.after) }) };
  });
}

/** Why an entry cannot be undone, as a sentence; undefined if it can. */
export function findObstacle({ entry, versions = [] }: ChangeDetails): string | undefined {
  const { changes } = entry;
  const published = publishedIn(entry);
  if (published) return published.digest_before === undefined ? 'No policy had been published before.' : undefined;
  const isOfRecord = ({ kind, action }: LoggedChange) =>
    recordVersions.shape.kind.safeParse(kind).success && ['create', 'update', 'delete'].includes(action);
  if (!changes.every(isOfRecord))
    return 'Changes of credentials, agents, calls and trials cannot be undone here. To lift a block: intent-gate agents unblock.';
  if (changes.some(({ kind, action }) => kind === 'service' && action === 'delete'))
    return 'A deleted service is restored from a copy of the table: see docs/operations.md.';
  const isComplete = changes.every(
    ({ kind, id, action }) => action === 'create' || versions.some((one) => one.kind === kind && one.id === id),
  );
  if (!isComplete) return 'The earlier versions are not kept: they were too large, or have expired.';
  const isFirst = versions.some(({ kind, before, after }) => kind === 'service' && after?.namespace !== before.namespace);
  return isFirst ? 'The change gave the service its namespace, which never changes. Edit the other fields by hand.' : undefined;
}

/** A change with all others of its import, newest first. */
export async function readWhole(api: Api, seq: number | string): Promise<ChangeDetails[]> {
  const details = await readChange(api, seq);
  const { import_id } = details.entry;
  if (import_id === undefined) return [details];
  const pages = await Array.fromAsync(readPages(api, '/api/changes', { import_id }, changePage, true));
  return Promise.all(pages.flatMap(({ entries }) => entries).map((entry) => readChange(api, entry.seq)));
}

/**
 * Undoes changes in this order, each with one new change, if its records have not changed since. The new changes belong together, too.
 * @throws CliFailure if one cannot be undone, or a record has changed since
 */
export async function undoChanges(api: Api, whole: readonly ChangeDetails[]): Promise<void> {
  for (const obstacle of whole.map(findObstacle)) if (obstacle !== undefined) throw new CliFailure('failure', obstacle);
  const mark: Record<string, string> = whole.length > 1 ? { 'Import-Id': crypto.randomUUID() } : {};
  const undone: number[] = [];
  for (const details of whole) {
    const { seq } = details.entry;
    await undoChange(api, details, mark).catch((error: unknown) => {
      throw error instanceof Refusal && meansChanged(error) ? changedSince(seq, undone) : error;
    });
    undone.push(seq);
  }
}

async function undoChange(api: Api, details: ChangeDetails, mark: Record<string, string>): Promise<void> {
  const { entry, versions = [] } = details;
  const [change] = entry.changes;
  const [first] = versions;
  const published = publishedIn(entry);
  if (published) await republish(api, published);
  else if (change?.kind === 'service' && change.action === 'create') await removeService(api, change.id, entry.seq, mark);
  else if (first?.kind === 'service') await replaceService(api, first.id, first.before as ServiceInput, unchanged(entry.seq, mark).headers);
  else if (change)
    await changeIntents(api, first?.service_id ?? (await findIntent(api, change.id))?.record.service_id ?? '', details, mark);
}

/** Whether a refusal means that a record was changed, deleted or created again. */
const meansChanged = ({ status, details, issues }: Refusal): boolean =>
  status === 404 || details.reason === 'etag_mismatch' || (status === 409 && issues.some(({ path }) => path.startsWith('/create')));

/** @param undone - the changes of the same import that have been undone */
const changedSince = (seq: number, undone: readonly number[]) =>
  new CliFailure(
    'failure',
    `${undone.length === 0 ? 'Nothing was undone' : `Only a part of the import is undone (entries ${undone.join(', ')})`}: a record of entry ${seq} has changed since. Compare it with its later entries, and edit it by hand.`,
  );

/** The publication of the policy in force. */
const publishedIn = ({ changes }: ChangeDetails['entry']): LoggedChange | undefined =>
  changes.find(({ kind, id }) => kind === 'policy' && id === 'policy');

async function republish(api: Api, { digest_before, digest_after }: LoggedChange): Promise<void> {
  const [before, after] = await Promise.all([digest_before, digest_after].map((version) => readVersion(api, version)));
  if (before && after) await publishPolicy(api, before.policy, after.etag);
}

/** The entity tag of a service is the number of the entry that wrote it. */
const unchanged = (seq: number, mark: Record<string, string>) => ({ headers: { ...mark, 'If-Match': `"${seq}"` }, isAdmin: true });

async function removeService(api: Api, id: string, seq: number, mark: Record<string, string>): Promise<void> {
  if ((await listAllIntents(api, id)).length > 0)
    throw new CliFailure('failure', `The service has intents. To delete it with them: intent-gate services delete ${id}`);
  await api.call('DELETE', servicePath(id), unchanged(seq, mark));
}

async function changeIntents(
  api: Api,
  serviceId: string,
  { entry: { seq, changes }, versions = [] }: ChangeDetails,
  headers: Record<string, string>,
): Promise<void> {
  const beforeOf = (id: string) => versions.find((one) => one.id === id)?.before;
  const idsOf = (action: LoggedChange['action']) => changes.filter((change) => change.action === action).map(({ id }) => id);
  const known = [...idsOf('update'), ...idsOf('create')];
  const body = {
    create: idsOf('delete').map(beforeOf),
    replace: idsOf('update').map(beforeOf),
    delete: idsOf('create'),
    if_match: Object.fromEntries(known.map((id) => [id, `"${seq}."`])),
  };
  readAnswer(intentsChanged, await api.call('POST', `${servicePath(serviceId)}/changes`, { body, headers, isAdmin: true }));
}
