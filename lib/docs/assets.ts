import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, extname } from 'node:path';

/** A file that the reference page loads. */
export interface Asset {
  /** as its source is called, for example `reference.js` */
  file: string;
  /** with a digest of its text, so that it may be kept for good */
  name: string;
  text: string;
}

const { resolve } = createRequire(import.meta.url);

const sources = [
  resolve('swagger-ui-dist/swagger-ui.css'),
  resolve('swagger-ui-dist/swagger-ui-bundle.js'),
  resolve('swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt'),
  ...['reference.css', 'reference.js'].map((file) => new URL(file, import.meta.url)),
];

/** Swagger UI as it is published, and the page's own style and script. */
export const listAssets = (): Asset[] =>
  sources.map((source) => {
    // The source maps are not served.
    const text = readFileSync(source, 'utf8').replace(/\n(\/\/# |\/\*# )sourceMappingURL=.*$/, '');
    const file = basename(String(source));
    const extension = extname(file);
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 12);
    return { file, name: `${basename(file, extension)}.${digest}${extension}`, text };
  });
