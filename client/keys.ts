/** A key of WebCrypto. */
export type WebCryptoKey = Parameters<typeof crypto.subtle.sign>[1];

export interface KeyPair {
  privateKey: WebCryptoKey;
  publicKey: WebCryptoKey;
}

/** Keeps an agent's key from one run to the next. */
export interface KeyStore {
  /** whether keys have to be extractable to be saved; if not, the private key can never leave WebCrypto */
  readonly needsExtractable: boolean;
  load(agentId: string): Promise<KeyPair | undefined>;
  /**
   * Keeps a pair.
   * @returns the pair that is kept: a different one if another process was faster, because an agent_id belongs to its first key
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
export async function obtainKey(agentId: string, store: KeyStore = openMemoryKeyStore()): Promise<KeyPair> {
  const kept = await store.load(agentId);
  if (kept) return kept;
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
  const made = (await crypto.subtle.generateKey(algorithm, store.needsExtractable, ['sign', 'verify'])) as KeyPair;
  return store.save(agentId, made);
}

/** The key of a program without an agent_id, and an agent_id derived from the key, because an agent_id belongs to its first key. */
export async function obtainNamedKey(program: string, store?: KeyStore): Promise<{ agentId: string; key: KeyPair }> {
  const key = await obtainKey(program, store);
  const text = new TextEncoder().encode(JSON.stringify(await crypto.subtle.exportKey('jwk', key.publicKey)));
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', text)).subarray(0, 6);
  return { agentId: `${program}-${Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')}`, key };
}
