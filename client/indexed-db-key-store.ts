import type { KeyPair, KeyStore } from './keys.ts';

/** The part of IndexedDB that is used here, for projects that do not know the types of browsers. */
interface DatabaseRequest<T> {
  result: T;
  error: unknown;
  onsuccess: (() => void) | null;
  onerror: (() => void) | null;
}
interface ObjectStore {
  get(key: string): DatabaseRequest<unknown>;
  add(value: unknown, key: string): DatabaseRequest<unknown>;
}
interface Database {
  createObjectStore(name: string): unknown;
  transaction(name: string, mode: 'readonly' | 'readwrite'): { objectStore(name: string): ObjectStore };
}
interface Factory {
  open(name: string, version: number): DatabaseRequest<Database> & { onupgradeneeded: (() => void) | null };
}

const storeName = 'keys';

const settle = <T>(request: DatabaseRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/**
 * Keeps keys in the browser's own database. Private keys are never extractable: scripts of the page may sign with them, but not copy them.
 * @param name - of the database
 */
export function openIndexedDbKeyStore(name = 'intent-gate'): KeyStore {
  async function inStore<T>(mode: 'readonly' | 'readwrite', act: (store: ObjectStore) => DatabaseRequest<T>): Promise<T> {
    const { indexedDB } = globalThis as unknown as { indexedDB: Factory };
    const opening = indexedDB.open(name, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(storeName);
    const database = await settle(opening);
    return settle(act(database.transaction(storeName, mode).objectStore(storeName)));
  }
  const load = async (agentId: string) => (await inStore('readonly', (store) => store.get(agentId))) as KeyPair | undefined;

  return {
    needsExtractable: false,
    load,
    save: async (agentId, pair) => {
      try {
        await inStore('readwrite', (store) => store.add(pair, agentId));
        return pair;
      } catch (error) {
        const kept = (error as Error).name === 'ConstraintError' ? await load(agentId) : undefined;
        if (kept) return kept;
        throw error;
      }
    },
  };
}
