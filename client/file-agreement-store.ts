import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Agreement, AgreementStore } from './pats.ts';
import { readPrivateJson, writePrivateJson } from './private-files.ts';

/**
 * Stores agreements and PATs in private files (Node), one per gate.
 * @param folder - created if it does not exist
 */
export function openFileAgreementStore(folder: string): AgreementStore {
  const fileOf = (url: string) => join(folder, `agreement-${createHash('sha256').update(url).digest('hex').slice(0, 16)}.json`);
  return {
    load: async (url) => (await readPrivateJson(fileOf(url))) as Agreement | undefined,
    save: (url, agreement) => writePrivateJson(fileOf(url), { url, ...agreement }),
  };
}
