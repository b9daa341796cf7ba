import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { buildSync } from 'esbuild';
import { SettingsError } from './settings.ts';

/** Packages that AWS clients import and never use; `functions/core/unused-sdk-parts.ts` replaces them. */
const unusedParts = [
  '@aws-sdk/core/account-id-endpoint',
  '@aws-sdk/core/client',
  '@aws-sdk/core/protocols',
  '@aws-sdk/dynamodb-codec',
  '@aws-sdk/middleware-endpoint-discovery',
  '@smithy/core/endpoints',
  '@aws-sdk/endpoint-cache',
  '@aws/lambda-invoke-store',
  '@smithy/core/checksum',
  '@smithy/core/event-streams',
  '@smithy/signature-v4',
  '@smithy/node-http-handler',
];

/** Stubs for zod's JSON schema writer, which adds 18 KB per bundle: all functions except {@link schemaWriters} only validate. */
const zodStubs = {
  'to-json-schema.js': 'export const createToJSONSchemaMethod = () => undefined, createStandardJSONSchemaMethod = () => undefined;',
  'json-schema-processors.js': 'export const toJSONSchema = undefined;',
  'json-schema-generator.js': 'export const JSONSchemaGenerator = undefined;',
};

/** Functions that write JSON schemas, for MCP tools. */
const schemaWriters = ['mcp'];

/** Functions load it on first use (`createRequire`), so it is kept beside the bundle. */
const lazyPackage = 're2js';

/** Defines `require`, which ESM lacks and CommonJS dependencies use for Node's modules. */
const banner = "import{createRequire}from'node:module';const require=createRequire(import.meta.url);";

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
 * @param folder - gets one folder for each function, with its `index.mjs`
 * @throws SettingsError naming the files that are missing
 */
export function bundleFunctions(names: readonly string[], folder: string): void {
  requireSources(names);
  const zod = mkdtempSync(join(tmpdir(), 'zod-'));
  try {
    copyZod(zod);
    build(
      names.filter((name) => !schemaWriters.includes(name)),
      folder,
      { zod },
    );
    build(
      names.filter((name) => schemaWriters.includes(name)),
      folder,
      {},
    );
  } finally {
    rmSync(zod, { recursive: true });
  }
  copyBeside(names, folder);
}

/** Copies zod without its JSON schema writer: esbuild cannot replace files that the package itself imports by path. */
function copyZod(folder: string): void {
  cpSync(dirname(createRequire(import.meta.url).resolve('zod/package.json')), folder, {
    recursive: true,
    filter: (source) => !/\.(?:cjs|cts|ts)$/.test(source) && !/[/\\](?:src|v3)$/.test(source),
  });
  for (const [file, text] of Object.entries(zodStubs)) writeFileSync(join(folder, 'v4', 'core', file), text);
}

function build(names: readonly string[], folder: string, replaced: Record<string, string>): void {
  buildSync({
    entryPoints: Object.fromEntries(names.map((name) => [`${name}/index`, sourceOf(name)])),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    // Unlike the SDK's CommonJS, its ES modules can be tree-shaken.
    mainFields: ['module', 'main'],
    alias: {
      ...Object.fromEntries(unusedParts.map((name) => [name, resolve('functions/core/unused-sdk-parts.ts')])),
      '@aws-sdk/credential-provider-node': resolve('functions/core/lambda-credentials.ts'),
      ...replaced,
    },
    banner: { js: banner },
    logLevel: 'silent',
  });
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
    if (!readFileSync(join(folder, name, 'index.mjs'), 'utf8').includes(`("${lazyPackage}")`)) continue;
    const packageFolder = join(folder, name, 'node_modules', lazyPackage);
    mkdirSync(packageFolder, { recursive: true });
    writeFileSync(join(packageFolder, 'index.js'), file?.contents ?? '');
  }
}

const sourceOf = (name: string): string => join('functions', `${name}.ts`);
