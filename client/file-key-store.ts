import { createHash } from 'node:crypto';
import { link } from 'node:fs/promises';
import { join } from 'node:path';
import type { KeyPair, KeyStore } from './keys.ts';
import { damagedFile, readPrivateJson, writePrivate } from './private-files.ts';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };

/**
 * Stores P-256 keys as JWKs in private files (Node). Loaded private keys are not extractable.
 * @param folder - created if it does not exist
 */
export function openFileKeyStore(folder: string): KeyStore {
  const fileOf = (agentId: string) => join(folder, `${createHash('sha256').update(agentId).digest('hex').slice(0, 32)}.json`);

  async function load(agentId: string): Promise<KeyPair | undefined> {
    const path = fileOf(agentId);
    const kept = (await readPrivateJson(path)) as Parameters<typeof importPair>[0] | undefined;
    if (kept === undefined) return undefined;
    return importPair(kept).catch((cause) => {
      throw damagedFile(path, cause);
    });
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

async function importPair({ jwk: { kty, crv, x, y, d } }: { jwk: Record<'kty' | 'crv' | 'x' | 'y' | 'd', string> }): Promise<KeyPair> {
  const [privateKey, publicKey] = await Promise.all([
    crypto.subtle.importKey('jwk', { kty, crv, x, y, d }, algorithm, false, ['sign']),
    crypto.subtle.importKey('jwk', { kty, crv, x, y }, algorithm, true, ['verify']),
  ]);
  return { privateKey, publicKey };
}
