/** What a registry of services and intents would do if it did one thing after the other: a model for {@link ./linearizability.ts}. */
import type { Model } from '../support/linearizable.ts';

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
