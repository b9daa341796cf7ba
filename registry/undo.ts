import { Refusal } from '../client/errors.ts';
import { type ChangeDetails, changeDetails, type LoggedChange, recordVersions } from '../schemas/changes.ts';
import { intentsChanged } from '../schemas/intent.ts';
import { savedService } from '../schemas/service.ts';
import { type Api, readAnswer } from './api.ts';
import { type Difference, findDifferences } from './differences.ts';
import { CliFailure } from './failure.ts';
import { publishPolicy, readVersion } from './policy/publish.ts';
import { servicePath } from './read.ts';

type Versions = NonNullable<ChangeDetails['versions']>[number];

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
  if (
    !changes.every(
      ({ kind, action }) => recordVersions.shape.kind.safeParse(kind).success && ['create', 'update', 'delete'].includes(action),
    )
  )
    return 'Changes of credentials, agents, calls and trials cannot be undone here.';
  if (changes.some(({ kind, action }) => kind === 'service' && action === 'create')) return 'Delete the service to undo its registration.';
  if (changes.some(({ kind, action }) => kind === 'service' && action === 'delete'))
    return 'A deleted service is restored from a copy of the table: see docs/operations.md.';
  if (changes.every(({ action }) => action === 'create')) return 'Delete the intents to undo their creation.';
  const isComplete = changes.every(
    ({ kind, id, action }) => action === 'create' || versions.some((one) => one.kind === kind && one.id === id),
  );
  if (!isComplete) return 'The earlier versions are not kept: they were too large, or have expired.';
  const isFirst = versions.some(({ kind, before, after }) => kind === 'service' && after?.namespace !== before.namespace);
  return isFirst ? 'The change gave the service its namespace, which never changes. Edit the other fields by hand.' : undefined;
}

/**
 * Undoes a change with one new change, if its records have not changed since.
 * @throws CliFailure if it cannot be undone, or a record has changed since
 */
export async function undoChange(api: Api, details: ChangeDetails): Promise<void> {
  const obstacle = findObstacle(details);
  if (obstacle !== undefined) throw new CliFailure('failure', obstacle);
  const { entry, versions = [] } = details;
  try {
    const [first] = versions;
    const published = publishedIn(entry);
    if (published) await republish(api, published);
    else if (first?.kind === 'service') await replaceService(api, first, entry.seq);
    else if (first) await changeIntents(api, first.service_id, details);
  } catch (error) {
    throw error instanceof Refusal && meansChanged(error) ? changedSince(entry.seq) : error;
  }
}

/** Whether a refusal means that a record was changed, deleted or created again. */
const meansChanged = ({ status, details, issues }: Refusal): boolean =>
  status === 404 || details.reason === 'etag_mismatch' || (status === 409 && issues.some(({ path }) => path.startsWith('/create')));

const changedSince = (seq: number) =>
  new CliFailure(
    'failure',
    `Nothing was undone: a record of entry ${seq} has changed since. Compare it with its later entries, and edit it by hand.`,
  );

/** The publication of the policy in force. */
const publishedIn = ({ changes }: ChangeDetails['entry']): LoggedChange | undefined =>
  changes.find(({ kind, id }) => kind === 'policy' && id === 'policy');

async function republish(api: Api, { digest_before, digest_after }: LoggedChange): Promise<void> {
  const [before, after] = await Promise.all([digest_before, digest_after].map((version) => readVersion(api, version)));
  if (before && after) await publishPolicy(api, before.policy, after.etag);
}

async function replaceService(api: Api, { id, before }: Versions, seq: number): Promise<void> {
  // the entity tag of a record is the number of the entry that wrote it
  readAnswer(savedService, await api.call('PUT', servicePath(id), { body: before, headers: { 'If-Match': `"${seq}"` }, isAdmin: true }));
}

async function changeIntents(api: Api, serviceId: string, { entry: { seq, changes }, versions = [] }: ChangeDetails): Promise<void> {
  const beforeOf = (id: string) => versions.find((one) => one.id === id)?.before;
  const idsOf = (action: LoggedChange['action']) => changes.filter((change) => change.action === action).map(({ id }) => id);
  const known = [...idsOf('update'), ...idsOf('create')];
  const body = {
    create: idsOf('delete').map(beforeOf),
    replace: idsOf('update').map(beforeOf),
    delete: idsOf('create'),
    if_match: Object.fromEntries(known.map((id) => [id, `"${seq}."`])),
  };
  readAnswer(intentsChanged, await api.call('POST', `${servicePath(serviceId)}/changes`, { body, isAdmin: true }));
}
