import { readFileSync } from 'node:fs';
import { renderConsole } from './console/page.ts';
import { listAssets } from './docs/assets.ts';
import { renderPage } from './docs/page.ts';
import type { Needs } from './endpoints/needs.ts';
import { toOpenApi } from './openapi/document.ts';
import { policyFileSchema } from './policy-schema.ts';
import type { Settings } from './settings.ts';

/**
 * Prepares what functions read beside their bundles.
 * @param policy - text of the policy file
 * @returns finds the files of a function: their contents by their paths
 */
export function prepareFiles(
  policy: string,
  { protocol, aliases, signIn }: Settings,
): (needs: Needs) => Record<string, string | Uint8Array> {
  const assets = listAssets();
  const documents = {
    openapi: { 'openapi.json': JSON.stringify(toOpenApi({ protocol, aliases, policy, signIn })) },
    page: { 'page.html': renderPage(protocol, assets) },
    console: { 'console.html': renderConsole(assets) },
    assets: {
      ...Object.fromEntries(assets.map(({ name, text }) => [`assets/${name}`, text])),
      'assets/policy.schema.json': JSON.stringify(policyFileSchema()),
    },
  };
  const vectors = { 'word-vectors.bin': readFileSync('functions/core/search/word-vectors.bin') };
  return (needs) => ({
    ...(needs.policy && { 'policy.json': policy }),
    ...(needs.wordVectors && vectors),
    ...(needs.documents && documents[needs.documents]),
  });
}
