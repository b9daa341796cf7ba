import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Stops zod from trying `eval` for its first schema: the CSP forbids that, and browsers would report an error. */
const withoutEval = '(globalThis.__zod_globalConfig??={}).jitless=true;';

/**
 * Bundles the scripts of the pages. The admin views, the importer and the pattern engine are separate files, loaded when needed. File names,
 * including those in imports, contain a digest of the content.
 * @returns `scripts`: contents by name; `licences`: licences of the bundled packages
 */
export function bundleScripts(): { scripts: Record<string, string>; licences: string } {
  const { outputFiles, metafile } = buildSync({
    entryPoints: [here('app/console.tsx'), here('app/open-reference.ts')],
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
  return {
    scripts: Object.fromEntries(outputFiles.map(({ path, text }) => [basename(path), text])),
    licences: readLicences(Object.keys(metafile.inputs)),
  };
}

/** Bundles the style sheet of all pages; design tokens come first. */
export function bundleStyles(): string {
  const { outputFiles } = buildSync({
    entryPoints: [here('styles/console.css')],
    bundle: true,
    minify: true,
    legalComments: 'none',
    write: false,
    logLevel: 'silent',
  });
  return outputFiles[0]?.text ?? '';
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
