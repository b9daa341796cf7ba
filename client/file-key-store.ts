import { createHash } from 'node:crypto';
import { link } from 'node:fs/promises';
import { join } from 'node:path';
import type { KeyPair, KeyStore } from './keys.ts';
import { readPrivateJson, writePrivate } from './private-files.ts';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };

/**
 * Stores P-256 keys as JWKs in private files (Node). Loaded private keys are not extractable.
 * @param folder - created if it does not exist
 */
export function openFileKeyStore(folder: string): KeyStore {
  const fileOf = (agentId: string) => join(folder, `${createHash('sha256').update(agentId).digest('hex').slice(0, 32)}.json`);

  async function load(agentId: string): Promise<KeyPair | undefined> {
    const kept = (await readPrivateJson(fileOf(agentId))) as { jwk: Record<string, string> } | undefined;
    return kept && importPair(kept.jwk);
  }

  return {
    needsExtractable: true,
    load,
    save: async (agentId, { privateKey }) => {
      const path = fileOf(agentId);
      const jwk = await crypto.subtle.exportKey('jwk', privateKey);
      // if several processes write, the first wins
      await writePrivate(path, JSON.stringify({ agent_id: agentId, jwk }), (draft) =>
        link(draft, path).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error;
        }),
      );
      return (await load(agentId)) as KeyPair;
    },
  };
}

async function importPair({ kty, crv, x, y, d }: Record<'kty' | 'crv' | 'x' | 'y' | 'd', string>): Promise<KeyPair> {
  const [privateKey, publicKey] = await Promise.all([
    crypto.subtle.importKey('jwk', { kty, crv, x, y, d }, algorithm, false, ['sign']),
    crypto.subtle.importKey('jwk', { kty, crv, x, y }, algorithm, true, ['verify']),
  ]);
  return { privateKey, publicKey };
}
