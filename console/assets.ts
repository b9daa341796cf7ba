import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Stops zod from trying `eval` for its first schema: the CSP forbids that, and browsers would report an error. */
const withoutEval = '(globalThis.__zod_globalConfig??={}).jitless=true;';

/** A file that a page loads. */
export interface Asset {
  /** name without the digest, for example `console.js` */
  file: string;
  /** name with a digest of the content, so that it may be cached indefinitely */
  name: string;
  text: string;
}

/**
 * Bundles the scripts and the style sheet of the pages, and collects the licences of the bundled packages. The admin views, the importer and the
 * pattern engine are separate files, loaded when needed.
 */
export function listAssets(): Asset[] {
  const { outputFiles, metafile } = buildSync({
    entryPoints: [here('app/console.tsx'), here('app/open-reference.ts'), here('styles/console.css')],
    outdir: here('.'),
    entryNames: '[name].[hash]',
    chunkNames: '[name].[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: 'es2023',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    alias: Object.fromEntries(['buffer', 'crypto', 'module', 'net'].map((name) => [`node:${name}`, here(`in-browser/${name}.ts`)])),
    banner: { js: withoutEval },
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'silent',
  });
  const licences = readLicences(Object.keys(metafile.inputs));
  const digest = createHash('sha256').update(licences).digest('hex').slice(0, 8).toUpperCase();
  const files = [
    ...outputFiles.map(({ path, text }) => ({ name: basename(path), text })),
    { name: `licences.${digest}.txt`, text: licences },
  ];
  return files.map(({ name, text }) => ({ file: name.replace(/\.[0-9A-Z]{8}(?=\.\w+$)/, ''), name, text }));
}

/** The licences of the bundled packages. */
function readLicences(inputs: readonly string[]): string {
  const packages = inputs.flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  return [...new Set(packages)]
    .sort()
    .flatMap((folder) => {
      const [file] = existsSync(folder) ? globSync(join(folder, '{LICENSE,LICENCE,license}*')) : [];
      return file === undefined ? [] : [`${folder.replace(/^.*node_modules\//, '')}\n\n${readFileSync(file, 'utf8')}`];
    })
    .join('\n\n');
}
