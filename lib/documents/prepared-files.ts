import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Needs } from '../endpoints/needs.ts';
import { policyFileSchema } from '../policy-schema.ts';
import type { Settings } from '../settings.ts';
import { toOpenApi } from './document.ts';

/** The served pages and assets: contents by path, for each kind of document. */
export type Pages = Record<'page' | 'console' | 'assets', Record<string, string>>;

export interface Build {
  /** puts each function's bundle into a folder of its name */
  bundle(names: readonly string[], folder: string): void;
  buildPages(protocol: string): Pages;
  wordVectors: string;
}

export interface Contents {
  policy: string;
  /** text of the trial policy */
  tryPolicy?: string | undefined;
  settings: Settings;
  build: Build;
}

/**
 * Writes the deployment package of each function: its bundle and the files beside it.
 * @param folder - gets one folder for each function; replaced as a whole
 */
export function writeFunctions(
  rows: readonly { name: string; needs: Needs }[],
  folder: string,
  { policy, tryPolicy, settings, build }: Contents,
): void {
  rmSync(folder, { recursive: true, force: true });
  build.bundle(
    rows.map(({ name }) => name),
    folder,
  );
  const filesOf = prepareFiles({ policy, tryPolicy }, settings, build.buildPages(settings.protocol), build.wordVectors);
  for (const { name, needs } of rows) {
    for (const [path, content] of Object.entries(filesOf(needs))) {
      mkdirSync(dirname(join(folder, name, path)), { recursive: true });
      writeFileSync(join(folder, name, path), content);
    }
  }
}

/**
 * Prepares the files that functions read beside their bundles.
 * @returns a lookup of a function's files: contents by path
 */
export function prepareFiles(
  { policy, tryPolicy }: Pick<Contents, 'policy' | 'tryPolicy'>,
  { protocol, aliases, signIn }: Settings,
  pages: Pages,
  wordVectors: string,
): (needs: Needs) => Record<string, string | Uint8Array> {
  const documents = {
    openapi: { 'openapi.json': JSON.stringify(toOpenApi({ protocol, aliases, policy, signIn })) },
    ...pages,
    assets: { ...pages.assets, 'assets/policy.schema.json': JSON.stringify(policyFileSchema()) },
  };
  const vectors = { 'word-vectors.bin': readFileSync(wordVectors) };
  return (needs) => ({
    ...(needs.policy && { 'policy.json': policy }),
    ...(needs.triesPolicy && tryPolicy !== undefined && { 'try-policy.json': tryPolicy }),
    ...(needs.wordVectors && vectors),
    ...(needs.documents && documents[needs.documents]),
  });
}
