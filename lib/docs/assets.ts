import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { bundleConsole } from '../console/bundle.ts';

/** A file that the reference page or the console loads. */
export interface Asset {
  /** the name of its source, for example `reference.js` */
  file: string;
  /** with a digest of its text, so that it may be cached for good */
  name: string;
  text: string;
}

const { resolve } = createRequire(import.meta.url);

const own = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

const sources = [
  resolve('swagger-ui-dist/swagger-ui.css'),
  resolve('swagger-ui-dist/swagger-ui-bundle.js'),
  resolve('swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt'),
  own('reference.css'),
  own('../console/console.css'),
];

/** The reference page's own script, with the agent client in it. */
function bundleScript(): string {
  const { outputFiles } = buildSync({
    entryPoints: [own('reference.js')],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    logLevel: 'silent',
  });
  return outputFiles[0]?.text ?? '';
}

/** Swagger UI as published, the reference page's own style and script, and those of the console. */
export const listAssets = (): Asset[] => [
  ...[...sources.map((source) => ({ source, text: readFileSync(source, 'utf8') })), { source: 'reference.js', text: bundleScript() }].map(
    (asset) => {
      // The source maps are not served.
      const text = asset.text.replace(/\n(\/\/# |\/\*# )sourceMappingURL=.*$/, '');
      const file = basename(asset.source);
      const extension = extname(file);
      const digest = createHash('sha256').update(text).digest('hex').slice(0, 12);
      return { file, name: `${basename(file, extension)}.${digest}${extension}`, text };
    },
  ),
  ...Object.entries(bundleConsole()).map(([name, text]) => ({ file: name.replace(/\.[0-9A-Z]{8}(?=\.[a-z]+$)/, ''), name, text })),
];

/** @throws TypeError if no asset comes from the file */
export function nameAsset(assets: readonly Asset[], file: string): string {
  const asset = assets.find((candidate) => candidate.file === file);
  if (!asset) throw new TypeError(`no asset is called ${file}`);
  return asset.name;
}
