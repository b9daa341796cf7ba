import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { SettingsError } from './settings.ts';

/** Functions load it on first use (`createRequire`), so it is kept beside the bundle. */
const lazyPackage = 're2js';

/** The SDK loads these only if the environment holds no credentials. Lambda puts them there, and these would be a sixth of each bundle. */
const neverLoaded = ['ini', 'sso', 'process', 'web-identity', 'http'].map((name) => `@aws-sdk/credential-provider-${name}`);

/** Defines what `import.meta.url` is in a bundle. */
const banner = "'use strict';const moduleUrl=require('node:url').pathToFileURL(__filename).href;";

/** @throws SettingsError naming the functions' missing files */
function requireSources(names: readonly string[]): void {
  const missing = names.map(sourceOf).filter((file) => !existsSync(file));
  if (missing.length === 0) return;
  throw new SettingsError(
    `lib/endpoints has endpoints for files that are not there: ${missing.join(', ')}. Write them (CONTRIBUTING.md, "Add an endpoint").`,
  );
}

/**
 * Bundles every function.
 * @param names - of the files in `functions/`, without their extension
 * @param folder - gets one folder for each function, with its `index.cjs`
 * @param hasSourceMaps - whether stack traces can name lines of the sources; for the local stack only
 * @throws SettingsError naming the files that are missing
 */
export function bundleFunctions(names: readonly string[], folder: string, hasSourceMaps = false): void {
  requireSources(names);
  buildSync({
    entryPoints: Object.fromEntries(names.map((name) => [`${name}/index`, sourceOf(name)])),
    outdir: folder,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    minify: true,
    sourcemap: hasSourceMaps && 'linked',
    sourcesContent: false,
    platform: 'node',
    target: 'node24',
    // An ES module that imports one of Node's modules loads all that this loads lazily: node:http loads fetch, a fifth of a cold start.
    format: 'cjs',
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': 'moduleUrl' },
    // Unlike the SDK's CommonJS, its ES modules can be tree-shaken.
    mainFields: ['module', 'main'],
    external: [...neverLoaded, '@smithy/credential-provider-imds'],
    banner: { js: banner },
    logLevel: 'silent',
  });
  copyBeside(names, folder);
}

function copyBeside(names: readonly string[], folder: string): void {
  const [file] = buildSync({
    entryPoints: [lazyPackage],
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node24',
    write: false,
  }).outputFiles;
  for (const name of names) {
    if (!readFileSync(join(folder, name, 'index.cjs'), 'utf8').includes(`("${lazyPackage}")`)) continue;
    const packageFolder = join(folder, name, 'node_modules', lazyPackage);
    mkdirSync(packageFolder, { recursive: true });
    writeFileSync(join(packageFolder, 'index.js'), file?.contents ?? '');
  }
}

/** A handler of the core is in `functions/`, a feature's in its folder there. */
export const sourceOf = (name: string): string => globSync(`functions/*/${name}.ts`)[0] ?? join('functions', `${name}.ts`);
