import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The one file in which a copy of the code differs from the code. */
export interface Change {
  /** from the root of the project */
  file: string;
  /** what it says in the copy */
  source: string;
}

const copies = new Map<string, Change>();
const copyOf = (url: string | undefined): string | undefined => url?.match(/\?copy=\d+$/)?.[0];

// A copy is the same modules once more, under addresses of their own; packages are shared.
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const copy = copyOf(context.parentURL);
    const isShared = !found.url.endsWith('.ts') || found.url.includes('/node_modules/');
    return copy === undefined || isShared ? found : { ...found, url: found.url + copy };
  },
  load(url, context, next) {
    const change = copies.get(copyOf(url) ?? '');
    if (!change) return next(url, context);
    const path = fileURLToPath(url);
    const source = path === resolve(change.file) ? change.source : readFileSync(path, 'utf8');
    return { format: 'module-typescript', source, shortCircuit: true };
  },
});

/** Loads scenarios and trials over a copy of the code. */
export function loadCopy(change: Change): Promise<typeof import('./run.ts')> {
  const copy = `?copy=${copies.size}`;
  copies.set(copy, change);
  return import(new URL(`./run.ts${copy}`, import.meta.url).href);
}
