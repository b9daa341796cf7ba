import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** What the gate's own code takes from Node, and the page from what takes its place. */
const inBrowser = (name: string): string => here(`in-browser/${name}.ts`);

/** The page's policy forbids making code of text. zod would try whether it may when its first schema is made, which browsers report as an error. */
const withoutEval = '(globalThis.__zod_globalConfig??={}).jitless=true;';

/**
 * The scripts of the console. What only admins need, the importer and the engine of patterns are files of their own, which are loaded when they
 * are needed. Names contain a digest of the content, also where one script names another.
 * @returns contents by names
 */
export function bundleConsole(): Record<string, string> {
  const { outputFiles, metafile } = buildSync({
    entryPoints: [here('app/console.tsx')],
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
    alias: {
      'node:buffer': inBrowser('buffer'),
      'node:crypto': inBrowser('crypto'),
      'node:module': inBrowser('module'),
      'node:net': inBrowser('net'),
    },
    banner: { js: withoutEval },
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'silent',
  });
  const licences = readLicences(Object.keys(metafile.inputs));
  const digest = createHash('sha256').update(licences).digest('hex').slice(0, 8).toUpperCase();
  return {
    ...Object.fromEntries(outputFiles.map(({ path, text }) => [basename(path), text])),
    [`console.LICENSES.${digest}.txt`]: licences,
  };
}

/** The licences of the packages that the scripts contain. */
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
