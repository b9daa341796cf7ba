import type { KeyPair, KeyStore } from './keys.ts';

const storeName = 'keys';

const resultOf = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** Stores keys in the browser. Scripts can sign with the private keys, but cannot export them. @param name - name of the database */
export function openIndexedDbKeyStore(name = 'intent-gate'): KeyStore {
  async function inStore<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
    const opening = indexedDB.open(name, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(storeName);
    const database = await resultOf(opening);
    return resultOf(act(database.transaction(storeName, mode).objectStore(storeName)));
  }
  const load = (agentId: string) => inStore<KeyPair | undefined>('readonly', (store) => store.get(agentId));

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
