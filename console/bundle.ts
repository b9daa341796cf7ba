import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The CSP forbids `eval`. zod would try it when its first schema is made, which browsers report as an error. */
const withoutEval = '(globalThis.__zod_globalConfig??={}).jitless=true;';

/**
 * Bundles the scripts of the pages. What only admins need, the importer and the pattern engine are separate files, which are loaded when they are needed.
 * Names contain a digest of the content, also where one script names another.
 * @returns `scripts`: contents by names; `licences`: of the packages in them
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

/** The style sheet of all pages; the tokens come first. */
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

/** The licences of the packages in the scripts. */
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
