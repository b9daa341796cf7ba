import { toHex } from './bytes.ts';

export type WebCryptoKey = Parameters<typeof crypto.subtle.sign>[1];

export interface KeyPair {
  privateKey: WebCryptoKey;
  publicKey: WebCryptoKey;
}

export interface KeyStore {
  /** whether saved keys must be extractable */
  readonly needsExtractable: boolean;
  load(agentId: string): Promise<KeyPair | undefined>;
  /** @returns the stored pair, which is a different one if another process was faster */
  save(agentId: string, pair: KeyPair): Promise<KeyPair>;
}

export function openMemoryKeyStore(): KeyStore {
  const pairs = new Map<string, KeyPair>();
  return {
    needsExtractable: false,
    load: async (agentId) => pairs.get(agentId),
    save: async (agentId, pair) => {
      const kept = pairs.get(agentId) ?? pair;
      pairs.set(agentId, kept);
      return kept;
    },
  };
}

export async function obtainKey(agentId: string, store: KeyStore = openMemoryKeyStore()): Promise<KeyPair> {
  const kept = await store.load(agentId);
  if (kept) return kept;
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
  const made = (await crypto.subtle.generateKey(algorithm, store.needsExtractable, ['sign', 'verify'])) as KeyPair;
  return store.save(agentId, made);
}

/** Obtains a key for a program, and derives an agent id from it. */
export async function obtainNamedKey(program: string, store?: KeyStore): Promise<{ agentId: string; key: KeyPair }> {
  const key = await obtainKey(program, store);
  const text = new TextEncoder().encode(JSON.stringify(await crypto.subtle.exportKey('jwk', key.publicKey)));
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', text)).subarray(0, 6);
  return { agentId: `${program}-${toHex(digest)}`, key };
}
