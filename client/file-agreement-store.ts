import { createHash, randomUUID } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Agreement, AgreementStore } from './pats.ts';
import { makePrivateFolder, readPrivateJson } from './private-files.ts';

/**
 * Keeps agreements and their PATs in files that only their owner may read (Node), one for each gate.
 * @param folder - created if it does not exist
 */
export function openFileAgreementStore(folder: string): AgreementStore {
  const fileOf = (url: string) => join(folder, `agreement-${createHash('sha256').update(url).digest('hex').slice(0, 16)}.json`);
  return {
    load: async (url) => (await readPrivateJson(fileOf(url))) as Agreement | undefined,
    save: async (url, agreement) => {
      const path = fileOf(url);
      await makePrivateFolder(path);
      // written beside and moved, so that a reader never sees half of it
      const draft = join(folder, `${randomUUID()}.draft`);
      await writeFile(draft, JSON.stringify({ url, ...agreement }), { mode: 0o600, flag: 'wx' });
      await rename(draft, path);
    },
  };
}
