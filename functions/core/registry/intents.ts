import type { LoggedChange } from '../../../schemas/changes.ts';
import type { Issue } from '../../../schemas/errors.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import { type Admin, operator, requireIntentNamespace } from '../admin/admin.ts';
import { ApiError } from '../runtime/api-error.ts';
import { isUlid } from '../runtime/ulid.ts';
import { keys } from '../table/keys.ts';
import type { Item, Table, Write } from '../table/table.ts';
import { type ChangeLog, noChange, openChangeLog, type Planned, type Read } from './change-log.ts';
import { listNameOf, putListEntry } from './lists.ts';
import { type LiveIntent, openLiveIntents } from './live-intents.ts';
import { digestOf, type RecordVersions } from './log.ts';
import { countInNamespace, defaultMaxPerNamespace, namespaceKeys } from './namespaces.ts';
import {
  type IntentItem,
  type IntentRecord,
  readDefinition,
  type ServiceItem,
  type ServiceRecord,
  toIntentItem,
  toIntentRecord,
  toServiceRecord,
} from './records.ts';
import { noSuchIntent, recordChanged } from './refusals.ts';

/** The change of one intent in a transaction. */
export type IntentStep = ({ action: 'create' | 'update'; intent: IntentInput } | { action: 'delete'; uid: string }) & {
  /** whether the writer has read this revision; ignored for creations */
  isKnown?: (seen: LiveIntent) => boolean;
  /** JSON pointer into the request, for refusals */
  pointer?: string;
};

type Check = (intent: IntentInput, service: ServiceRecord) => void;

/** A change of intents that was made. */
interface Applied {
  /** number of the log entry */
  seq: number;
  service: ServiceRecord;
  /** `undefined` for deleted ones */
  intents: (IntentRecord | undefined)[];
}

/** A step with the record that has its uid. */
interface ReadStep {
  step: IntentStep;
  /** may be in another service */
  seen: IntentItem | undefined;
  /** whether it is live in a service; a leftover of a deleted one may be overwritten */
  isLive: boolean;
}

const uidOf = (step: IntentStep): string => (step.action === 'delete' ? step.uid : step.intent.intent_uid);

const uidTaken = () =>
  new ApiError('CONFLICT', 'An intent with this intent_uid exists. Update that one, or choose another slug or version.', {
    details: { issues: [{ path: '/intent_uid', problem: 'must be unique' }] },
  });

function writesOf(step: IntentStep, service: ServiceRecord, seen: IntentItem | undefined, rev: number): Write[] {
  const serviceId = service.service_id;
  const uid = uidOf(step);
  const wasDraft = seen && readDefinition(seen).draft;
  const isUnchanged = [seen ? (['=', 'rev', seen.rev] as const) : (['absent', 'pk'] as const)];
  const removed: Write = { delete: keys.listEntry(listNameOf(serviceId, wasDraft), uid) };
  if (step.action === 'delete') return [{ delete: keys.intent(uid), when: isUnchanged }, removed];
  const isMoved = step.action === 'update' && Boolean(wasDraft) !== Boolean(step.intent.draft);
  return [
    { put: toIntentItem(step.intent, serviceId, rev), when: isUnchanged },
    putListEntry(serviceId, step.intent, rev),
    ...(isMoved ? [removed] : []),
  ];
}

function logged(step: IntentStep, seen: IntentItem | undefined): LoggedChange {
  return {
    kind: 'intent',
    id: uidOf(step),
    action: step.action,
    ...(step.action !== 'create' && seen && { digest_before: digestOf(readDefinition(seen)) }),
    ...(step.action !== 'delete' && { digest_after: digestOf(step.intent) }),
  };
}

const versionsOf = (step: IntentStep, seen: IntentItem | undefined): RecordVersions[] =>
  step.action === 'create' || !seen
    ? []
    : [
        {
          kind: 'intent',
          id: uidOf(step),
          service_id: seen.service_id,
          before: readDefinition(seen),
          ...(step.action === 'update' && { after: step.intent }),
        },
      ];

/** Reads the service and the records with the uids of the steps. @returns undefined if there is no such service */
async function readSteps(read: Read, serviceId: string, steps: readonly IntentStep[]) {
  const [item, ...seen] = await read<Item>([keys.service(serviceId), ...steps.map((step) => keys.intent(uidOf(step)))]);
  if (!item) return undefined;
  const items = seen as (IntentItem | undefined)[];
  const elsewhere = items.flatMap((one) => (one && one.service_id !== serviceId ? [keys.service(one.service_id)] : []));
  const live = new Set([serviceId, ...(await read<ServiceItem>(elsewhere)).map((one) => one?.service_id)]);
  return {
    service: toServiceRecord(item as ServiceItem),
    steps: steps.map((step, at): ReadStep => ({ step, seen: items[at], isLive: live.has(items[at]?.service_id) })),
  };
}

function refusalOf(by: Admin, { step, seen, isLive }: ReadStep, service: ServiceRecord, check: Check): ApiError | undefined {
  try {
    requireIntentNamespace(by, service, uidOf(step));
    if (step.action === 'create' && seen && isLive) throw uidTaken();
    if (step.action !== 'create') {
      if (seen?.service_id !== service.service_id) throw noSuchIntent();
      if (step.isKnown?.({ intent: toIntentRecord(seen), service }) === false) throw recordChanged();
    }
    if (step.action !== 'delete') check(step.intent, service);
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return underStep(error, step);
    throw error;
  }
}

const issuesOf = ({ details }: ApiError): Issue[] => (details.issues ?? []) as Issue[];

/** Prefixes the issues of a refusal with the pointer to its step. */
function underStep(refusal: ApiError, { pointer }: IntentStep): ApiError {
  if (pointer === undefined) return refusal;
  const { message, details } = refusal;
  const own = issuesOf(refusal).map(({ path, ...issue }) => ({ ...issue, path: pointer + path }));
  const issues = own.length > 0 ? own : [{ path: pointer, problem: message.split('. ', 1)[0] ?? message }];
  return refusal.with({ details: { ...details, issues } });
}

/** The first refusal, with the issues of all refusals that have the same code. */
function mergeRefusals([first, ...others]: readonly ApiError[]): ApiError | undefined {
  if (!first || others.length === 0) return first;
  const issues = [first, ...others.filter(({ code }) => code === first.code)].flatMap(issuesOf);
  return first.with({ details: { ...first.details, issues: issues.slice(0, 100) } });
}

function growthOf(steps: readonly ReadStep[]): Record<'intents' | 'drafts', number> {
  const growth = { intents: 0, drafts: 0 };
  for (const { step, seen } of steps) {
    if (step.action !== 'create' && seen) growth[readDefinition(seen).draft ? 'drafts' : 'intents']--;
    if (step.action !== 'delete') growth[step.intent.draft ? 'drafts' : 'intents']++;
  }
  return growth;
}

async function plan(read: Read, service: ServiceRecord, steps: readonly ReadStep[], mostPerNamespace: number): Promise<Planned<Applied>> {
  const { service_id: serviceId, namespace } = service;
  const growth = growthOf(steps);
  const [counted] = await read<Item>(namespaceKeys(namespace));
  const inNamespace = countInNamespace(namespace, counted, { intents: growth.intents + growth.drafts }, mostPerNamespace);
  const add = Object.entries(growth).filter(([, more]) => more !== 0);
  const isUnchanged = [['=', 'rev', service.rev] as const];
  const counts: Write =
    add.length > 0 ? { update: keys.service(serviceId), add, when: isUnchanged } : { check: keys.service(serviceId), when: isUnchanged };
  const after = (step: IntentStep, rev: number) =>
    step.action === 'delete' ? undefined : toIntentRecord(toIntentItem(step.intent, serviceId, rev));
  return {
    result: (seq) => ({ seq, service, intents: steps.map(({ step }) => after(step, seq)) }),
    changes: steps.map(({ step, seen }) => logged(step, seen)),
    versions: steps.flatMap(({ step, seen }) => versionsOf(step, seen)),
    namespace,
    writes: (rev) => [counts, ...steps.flatMap(({ step, seen }) => writesOf(step, service, seen, rev)), ...inNamespace],
  };
}

/** Intents. Changes without `as` are attributed to operators' programs. */
export function openIntents(
  table: Table,
  changeLog: Pick<ChangeLog, 'change'> = openChangeLog(table),
  mostPerNamespace: number = defaultMaxPerNamespace,
) {
  const live = openLiveIntents(table);

  /**
   * Changes by an admin, each in one transaction. They throw ApiError FORBIDDEN outside of the admin's namespaces or the service's, and CONFLICT if a uid
   * is taken or the writer has read another revision.
   */
  function changesBy(by: Admin) {
    /**
     * Changes intents of one service, at most `maxChangedIntents`: all or none.
     * @returns undefined if there is no such service
     * @throws ApiError NOT_FOUND if there is no such intent in the service, and what `check` throws
     */
    async function apply(serviceId: string, steps: readonly IntentStep[], check: Check = () => {}): Promise<Applied | undefined> {
      if (!isUlid(serviceId)) return undefined;
      return changeLog.change<Applied | undefined>(by, async (read) => {
        const reading = await readSteps(read, serviceId, steps);
        if (!reading) return noChange(undefined);
        const refusals = reading.steps.flatMap((one) => refusalOf(by, one, reading.service, check) ?? []);
        if (refusals.length > 0) throw mergeRefusals(refusals);
        return plan(read, reading.service, reading.steps, mostPerNamespace);
      });
    }

    /** @returns undefined if there is no such intent, or it has been deleted since it was read */
    async function applyOne(uid: string, step: IntentStep): Promise<Applied | undefined> {
      const found = await live.find(uid);
      if (!found) return undefined;
      return apply(found.service.service_id, [step]).catch((error: unknown) => {
        if (error instanceof ApiError && error.code === 'NOT_FOUND') return undefined;
        throw error;
      });
    }

    return {
      apply,

      /** @returns undefined if there is no such service */
      create: async (serviceId: string, intent: IntentInput, check?: Check): Promise<IntentRecord | undefined> =>
        (await apply(serviceId, [{ action: 'create', intent }], check))?.intents[0],

      /**
       * Replaces an intent. One that becomes a draft, or stops being one, moves to the other list of its service.
       * @returns undefined if there is no such intent
       */
      replace: async (uid: string, intent: IntentInput, isKnown: (found: LiveIntent) => boolean): Promise<LiveIntent | undefined> => {
        const done = await applyOne(uid, { action: 'update', intent, isKnown });
        return done?.intents[0] && { intent: done.intents[0], service: done.service };
      },

      /** @returns whether the intent existed */
      remove: async (uid: string, isKnown: (found: LiveIntent) => boolean): Promise<boolean> =>
        (await applyOne(uid, { action: 'delete', uid, isKnown })) !== undefined,
    };
  }

  return { ...live, as: changesBy, ...changesBy(operator) };
}

export type Intents = ReturnType<typeof openIntents>;
