import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { buildSync } from 'esbuild';
import { SettingsError } from './settings.ts';

/** How the SDK finds credentials outside Lambda: loaded only if the environment has none, and in Lambda it always does. */
const foreignCredentials = [
  '@aws-sdk/credential-provider-http',
  '@aws-sdk/credential-provider-ini',
  '@aws-sdk/credential-provider-process',
  '@aws-sdk/credential-provider-sso',
  '@aws-sdk/credential-provider-web-identity',
  '@smithy/credential-provider-imds',
];

/** Packages that clients import and never use; see the file that takes their place. */
const unusedParts = ['@aws-sdk/endpoint-cache', '@smithy/core/checksum', '@smithy/core/event-streams'];

/** A package that functions load when they first need it (`createRequire`), so that it lies beside their bundle instead of in it. */
const loadedLate = 're2js';

export interface BundledFunction {
  /** the file in `functions/`, without its extension */
  name: string;
  /** the files beside its bundle: contents by their paths */
  files: Record<string, string | Uint8Array>;
}

/** Some dependencies are CommonJS and call `require` for Node's own modules; ESM has no `require`. */
const banner = "import{createRequire}from'node:module';const require=createRequire(import.meta.url);";

/** @throws SettingsError naming the files that functions lack */
export function requireSources(functions: readonly { name: string }[]): void {
  const missing = functions.map(({ name }) => sourceOf(name)).filter((file) => !existsSync(file));
  if (missing.length === 0) return;
  throw new SettingsError(
    `lib/endpoints has endpoints for files that are not there: ${missing.join(', ')}. Write them (CONTRIBUTING.md, "Add an endpoint").`,
  );
}

/**
 * Bundles every function in one esbuild call.
 * @param folder - gets one folder for each function, with its `index.mjs`; replaced as a whole
 */
export function bundleFunctions(functions: readonly BundledFunction[], folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  buildSync({
    entryPoints: Object.fromEntries(functions.map(({ name }) => [`${name}/index`, sourceOf(name)])),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    // The SDK's ES modules can be tree-shaken, its CommonJS cannot.
    mainFields: ['module', 'main'],
    external: foreignCredentials,
    alias: Object.fromEntries(unusedParts.map((name) => [name, resolve('lib/unused-sdk-parts.ts')])),
    banner: { js: banner },
    logLevel: 'silent',
  });
  putBeside(functions, folder);
  for (const { name, files } of functions) {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name, path)), { recursive: true });
      writeFileSync(join(folder, name, path), content);
    }
  }
}

/** Puts the package that is loaded late beside the bundles that ask for it. */
function putBeside(functions: readonly BundledFunction[], folder: string): void {
  const [file] = buildSync({
    entryPoints: [loadedLate],
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node24',
    write: false,
  }).outputFiles;
  for (const { name } of functions) {
    if (!readFileSync(join(folder, name, 'index.mjs'), 'utf8').includes(`("${loadedLate}")`)) continue;
    const packageFolder = join(folder, name, 'node_modules', loadedLate);
    mkdirSync(packageFolder, { recursive: true });
    writeFileSync(join(packageFolder, 'index.js'), file?.contents ?? '');
  }
}

const sourceOf = (name: string): string => join('functions', `${name}.ts`);
