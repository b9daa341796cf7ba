import { createHash } from 'node:crypto';
import { bundleScripts, bundleStyles } from './bundle.ts';

/** A file that a page loads. */
export interface Asset {
  /** name without the digest, for example `console.js` */
  file: string;
  /** name with a digest of the content, so that it may be cached indefinitely */
  name: string;
  text: string;
}

export function listAssets(): Asset[] {
  const { scripts, licences } = bundleScripts();
  const asset = (file: string, text: string): Asset => ({ file, name: file.replace('.', `.${digestOf(text)}.`), text });
  return [
    ...Object.entries(scripts).map(([name, text]) => ({ file: name.replace(/\.[0-9A-Z]{8}(?=\.js$)/, ''), name, text })),
    asset('console.css', bundleStyles()),
    asset('licences.txt', licences),
  ];
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8).toUpperCase();
