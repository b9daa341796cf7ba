/** What a registry of services and intents would do if it did one thing after the other: a model for {@link ./linearizability.ts}. */
import { digestOf } from '../../functions/core/registry/log.ts';
import type { LogEntry, LoggedChange } from '../../schemas/changes.ts';
import { toService } from '../../schemas/service.ts';
import type { Model, Operation } from '../support/linearizable.ts';
import { intentOf, serviceNamed } from '../support/records.ts';

export const serviceOf = (name: string, description: string) => ({ ...serviceNamed(name), description });
export const intentWith = (uid: string, description: string) => intentOf(uid, { description });

/** What a caller was told: `changed` if the record is not the one that `known` says, `taken` if the name or uid is. */
export type Told = 'ok' | 'absent' | 'changed' | 'taken';

/**
 * One operation on one record. `tag` is what it writes or has read, different for every write; `known` what the writer wants to replace.
 * `told` is left out if the caller was not told what came of it; a read has none, and no `tag` if there was nothing.
 */
export type RegistryOp = { told?: Told } & (
  | { kind: 'createService'; id: string; name: string; tag: string }
  | { kind: 'replaceService'; id: string; name: string; tag: string; known?: string }
  | { kind: 'removeService'; id: string; known?: string }
  | { kind: 'readService'; id: string; name?: string; tag?: string }
  | { kind: 'createIntent'; id: string; uid: string; tag: string }
  | { kind: 'replaceIntent'; uid: string; tag: string; known?: string }
  | { kind: 'removeIntent'; uid: string; known?: string }
  | { kind: 'readIntent'; uid: string; id?: string; tag?: string }
  /** the list of the service `id` shows the intent with this tag, or does not show it */
  | { kind: 'listIntent'; id: string; uid: string; tag?: string }
);

interface Registry {
  services: Readonly<Record<string, { name: string; tag: string }>>;
  intents: Readonly<Record<string, { id: string; tag: string }>>;
}

const without = <T>(record: Readonly<Record<string, T>>, name: string): Record<string, T> => {
  const { [name]: _, ...rest } = record;
  return rest;
};

const outcomeOf = (record: { tag: string } | undefined, known: string | undefined): Told =>
  !record ? 'absent' : known !== undefined && known !== record.tag ? 'changed' : 'ok';

/** What comes of an operation, and the registry after it. */
function act({ services, intents }: Registry, op: RegistryOp): { is: Told; next: Registry } {
  const registry = { services, intents };
  switch (op.kind) {
    case 'createService':
    case 'replaceService': {
      const { id, name, tag } = op;
      const is = op.kind === 'createService' ? 'ok' : outcomeOf(services[id], op.known);
      const isTaken = Object.entries(services).some(([other, service]) => other !== id && service.name === name);
      // a name is looked at after the record, which may have changed meanwhile
      if (isTaken && (is === 'ok' || op.told === 'taken')) return { is: 'taken', next: registry };
      return { is, next: is === 'ok' ? { intents, services: { ...services, [id]: { name, tag } } } : registry };
    }
    case 'removeService': {
      const is = outcomeOf(services[op.id], op.known);
      if (is !== 'ok') return { is, next: registry };
      const left = Object.fromEntries(Object.entries(intents).filter(([, { id }]) => id !== op.id));
      return { is, next: { services: without(services, op.id), intents: left } };
    }
    case 'createIntent': {
      const { id, uid, tag } = op;
      // the service is looked at first, and may be gone meanwhile
      if (intents[uid] && (services[id] || op.told === 'taken')) return { is: 'taken', next: registry };
      if (!services[id]) return { is: 'absent', next: registry };
      return { is: 'ok', next: { services, intents: { ...intents, [uid]: { id, tag } } } };
    }
    case 'replaceIntent': {
      const { uid, tag } = op;
      const intent = intents[uid];
      const is = outcomeOf(intent, op.known);
      return { is, next: is === 'ok' && intent ? { services, intents: { ...intents, [uid]: { ...intent, tag } } } : registry };
    }
    case 'removeIntent': {
      const is = outcomeOf(intents[op.uid], op.known);
      return { is, next: is === 'ok' ? { services, intents: without(intents, op.uid) } : registry };
    }
    case 'readService': {
      const { name, tag } = services[op.id] ?? {};
      return { is: name === op.name && tag === op.tag ? 'ok' : 'absent', next: registry };
    }
    case 'readIntent': {
      const { id, tag } = intents[op.uid] ?? {};
      return { is: id === op.id && tag === op.tag ? 'ok' : 'absent', next: registry };
    }
    case 'listIntent': {
      const { id, tag } = intents[op.uid] ?? {};
      return { is: (id === op.id ? tag : undefined) === op.tag ? 'ok' : 'absent', next: registry };
    }
  }
}

const inOrder = (record: object): string => JSON.stringify(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));

export const registryModel: Model<Registry, RegistryOp> = {
  initial: { services: {}, intents: {} },
  step: (registry, op) => {
    const { is, next } = act(registry, op);
    return is === (op.told ?? 'ok') ? next : undefined;
  },
  keyOf: ({ services, intents }) => inOrder(services) + inOrder(intents),
};

/** What the log has to say about what an operation wrote; undefined if it writes no definition. */
export function digestIn(op: { kind: string; id?: string; name?: string; uid?: string; tag?: string }): string | undefined {
  const { kind, id: service_id = '', name = '', uid, tag = '' } = op;
  if (!/^(create|replace)/.test(kind)) return undefined;
  return digestOf(uid === undefined ? toService({ ...serviceOf(name, tag), service_id }) : intentWith(uid, tag));
}

/**
 * Where the log and what callers were told differ: each change that somebody was told of is in it once, each that nobody was told of at most
 * once, and none that was refused; and each entry says what the record said before it, and since.
 */
export function findUnlogged(entries: readonly LogEntry[], history: readonly Operation<RegistryOp>[]): string[] {
  const problems: string[] = [];
  const states = new Map<string, string | undefined>();
  const timesOf = new Map<string, number>();
  const nameOf = ({ id, action, digest_after = '' }: Pick<LoggedChange, 'id' | 'action' | 'digest_after'>) =>
    `${action} ${id} ${digest_after}`;
  for (const { seq, changes } of entries) {
    for (const change of changes) {
      const { id, action, digest_before, digest_after } = change;
      // a service takes its intents with it, and they may be created anew
      if (action !== 'create' && digest_before !== states.get(id)) problems.push(`entry ${seq} does not say what ${id} was before`);
      states.set(id, digest_after);
      timesOf.set(nameOf(change), (timesOf.get(nameOf(change)) ?? 0) + 1);
    }
  }
  const writes = history.flatMap(({ op }) => {
    const [, verb] = /^(create|replace|remove)/.exec(op.kind) ?? [];
    const action = verb && ({ create: 'create', replace: 'update', remove: 'delete' } as const)[verb];
    const id = 'uid' in op ? op.uid : op.id;
    return action ? [{ name: nameOf({ id, action, digest_after: digestIn(op) }), told: op.told }] : [];
  });
  for (const [name, all] of Map.groupBy(writes, (write) => write.name)) {
    const [told, untold] = ['ok', undefined].map((what) => all.filter((write) => write.told === what).length) as [number, number];
    const times = timesOf.get(name) ?? 0;
    if (times < told || times > told + untold) problems.push(`"${name}" is ${times} times in the log, and was told ${told} times`);
    timesOf.delete(name);
  }
  for (const name of timesOf.keys()) problems.push(`"${name}" is in the log, and nobody asked for it`);
  return problems;
}
