/** A key of WebCrypto. */
export type Key = Parameters<typeof crypto.subtle.sign>[1];

export interface KeyPair {
  privateKey: Key;
  publicKey: Key;
}

/** Where an agent's key is kept from one run to the next. */
export interface KeyStore {
  /** whether what is saved has to be extractable; where not, the private key can never leave WebCrypto */
  readonly needsExtractable: boolean;
  load(agentId: string): Promise<KeyPair | undefined>;
  /**
   * Keeps a pair.
   * @returns the pair that is kept: another one where somebody else was faster, because an agent_id belongs to its first key
   */
  save(agentId: string, pair: KeyPair): Promise<KeyPair>;
}

/** Keeps keys for as long as the process runs. */
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

/** The agent's key pair: the one that is kept, or a new one (P-256). */
export async function obtainKey(agentId: string, store: KeyStore): Promise<KeyPair> {
  const kept = await store.load(agentId);
  if (kept) return kept;
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
  const made = (await crypto.subtle.generateKey(algorithm, store.needsExtractable, ['sign', 'verify'])) as KeyPair;
  return store.save(agentId, made);
}
