/** A process of {@link ./linearizability.ts}: an admin with a clock of its own, who writes and reads records at random and notes what it is told. */

import { openIntents } from '../../functions/core/registry/intents.ts';
import { listIntents, listServices } from '../../functions/core/registry/lists.ts';
import { openServices } from '../../functions/core/registry/services.ts';
import { ApiError } from '../../functions/core/runtime/api-error.ts';
import type { TableName } from '../../functions/core/table/keys.ts';
import { foldName } from '../../schemas/text.ts';
import { connectTable } from '../support/connect-table.ts';
import type { Operation } from '../support/linearizable.ts';
import { chooseWith, seededRandom } from '../support/random.ts';
import { intentWith, type RegistryOp, serviceOf, type Told } from './registry-model.ts';

export interface Setting {
  endpoint: string;
  tableNames: Record<TableName, string>;
  /** which process this is */
  index: number;
  /** how far its clock is ahead */
  skewMs: number;
}

/** Records of their own, which the processes work on at the same time. */
export interface Task {
  group: number;
  count: number;
  seed: number;
}

export interface Notes {
  group: number;
  history: Operation<RegistryOp>[];
  /** services whose creation was not answered: what they would be, as long as nobody knows their ids */
  unnamed: Operation<Omit<Extract<RegistryOp, { kind: 'createService' }>, 'id'>>[];
}

/** The same for all processes of a machine. */
const now = (): number => Number(process.hrtime.bigint() / 1_000n);

const toldBy = (error: unknown): Told | undefined => {
  if (!(error instanceof ApiError)) throw error;
  if (error.status === 503) return undefined;
  if (error.code === 'CONFLICT' && 'reason' in error.details) return 'changed';
  if (error.code === 'CONFLICT') return 'taken';
  throw error;
};

function open({ endpoint, tableNames, index, skewMs }: Setting) {
  const realNow = Date.now;
  Date.now = () => realNow() + skewMs;
  const table = connectTable(endpoint, tableNames);
  const [services, intents] = [openServices(table), openIntents(table)];

  return async ({ group, count, seed }: Task): Promise<Notes> => {
    const random = seededRandom(seed);
    const { pick } = chooseWith(random);
    const notes: Notes = { group, history: [], unnamed: [] };
    const names = [`g${group} left`, `g${group} right`];
    const uids = [`g${group}.example:a:v1`, `g${group}.example:b:v1`];
    const ids = new Set<string>();
    const seen = new Map<string, string>();
    let writes = 0;

    /** Notes an operation, and what its caller was told; `run` says so, or throws. */
    async function note(op: RegistryOp, run: () => Promise<Told>): Promise<void> {
      const invoked = now();
      const told = await run().catch(toldBy);
      if (told === undefined) notes.history.push({ op, invoked, returned: Number.POSITIVE_INFINITY });
      else notes.history.push({ op: { ...op, told }, invoked, returned: now() });
      if (told === 'ok' && 'tag' in op && op.tag) seen.set('uid' in op ? op.uid : op.id, op.tag);
    }

    /** Notes what one reading has shown; nothing if the table was out of reach. */
    async function noteReads(read: () => Promise<RegistryOp[]>): Promise<void> {
      const invoked = now();
      const ops = await read().catch((error: unknown) => (toldBy(error) === undefined ? [] : Promise.reject(error)));
      const returned = now();
      for (const op of ops) {
        notes.history.push({ op, invoked, returned });
        if ('tag' in op && op.tag) seen.set('uid' in op ? op.uid : op.id, op.tag);
      }
    }

    const readService = (id: string) =>
      noteReads(async () => {
        const found = await services.find(id);
        return [{ kind: 'readService', id, ...(found && { name: found.service_name, tag: found.description }) }];
      });
    const readIntent = (uid: string) =>
      noteReads(async () => {
        const found = (await intents.find(uid))?.intent;
        return [{ kind: 'readIntent', uid, ...(found && { id: found.service_id, tag: found.description }) }];
      });
    const look = () =>
      noteReads(async () => {
        const page = await listServices(table, foldName(`g${group} `), 4, (name) => names.some((one) => foldName(one) === name));
        for (const { service_id } of page.services) ids.add(service_id);
        return page.services.map(({ service_id: id, service_name: name, description: tag }) => ({
          kind: 'readService',
          id,
          name,
          tag,
        }));
      });
    const list = (id: string) =>
      noteReads(async () => {
        const service = await services.find(id);
        if (!service) return [];
        const { intents: listed } = await listIntents(table, service, 0, 10);
        return uids.map((uid) => {
          const tag = listed.find(({ intent_uid }) => intent_uid === uid)?.description;
          return { kind: 'listIntent', id, uid, ...(tag !== undefined && { tag }) };
        });
      });

    async function createService(name: string, tag: string): Promise<void> {
      const invoked = now();
      const op = { kind: 'createService', name, tag } as const;
      try {
        const { service_id: id } = await services.create(serviceOf(name, tag));
        notes.history.push({ op: { ...op, id, told: 'ok' }, invoked, returned: now() });
        ids.add(id);
        seen.set(id, tag);
      } catch (error) {
        const told = toldBy(error);
        if (told === undefined) notes.unnamed.push({ op, invoked, returned: Number.POSITIVE_INFINITY });
        else notes.history.push({ op: { ...op, id: `none ${tag}`, told }, invoked, returned: now() });
      }
    }

    const ok = (isDone: unknown): Told => (isDone ? 'ok' : 'absent');

    for (let step = 0; step < count; step++) {
      if (ids.size === 0 && step > 0) await look();
      const id = pick([...ids]);
      const [uid, name, tag] = [pick(uids), pick(names), `${group}/${index}/${++writes}`];
      const choice = random();
      if (id === undefined || choice < 0.12) {
        await createService(name, tag);
        continue;
      }
      const key = choice < 0.4 ? id : uid;
      const known = random() < 0.6 ? seen.get(key) : undefined;
      const knows = known !== undefined && { known };
      const ifMatch = (record: { description: string }) => known === undefined || record.description === known;
      if (choice < 0.24) {
        const input = serviceOf(name, tag);
        await note({ kind: 'replaceService', id, name, tag, ...knows }, async () => ok(await services.replace(id, input, ifMatch)));
      } else if (choice < 0.32) {
        await note({ kind: 'removeService', id, ...knows }, async () => ok(await services.remove(id, ifMatch)));
      } else if (choice < 0.4) {
        await (random() < 0.5 ? readService(id) : look());
      } else if (choice < 0.6) {
        const input = intentWith(uid, tag);
        await note({ kind: 'createIntent', id, uid, tag }, async () => ok(await intents.create(id, input)));
      } else if (choice < 0.73) {
        const input = intentWith(uid, tag);
        const run = async () => ok(await intents.replace(uid, input, ({ intent }) => ifMatch(intent)));
        await note({ kind: 'replaceIntent', uid, tag, ...knows }, run);
      } else if (choice < 0.81) {
        await note({ kind: 'removeIntent', uid, ...knows }, async () => ok(await intents.remove(uid, ({ intent }) => ifMatch(intent))));
      } else if (choice < 0.9) {
        await readIntent(uid);
      } else {
        await list(id);
      }
    }
    return notes;
  };
}

let work: ReturnType<typeof open> | undefined;
process.on('message', async (message: Setting | Task) => {
  if ('endpoint' in message) work = open(message);
  else process.send?.(await work?.(message));
});
