import { existsSync, readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The one file in which a copy of the code differs from the code. */
export interface Change {
  /** from the root of the project */
  file: string;
  /** what it says in the copy */
  source: string;
}

/** What is known of a file of the project. */
interface Source {
  /** what it says, without types */
  code: string;
  /** the files that it imports */
  imports: string[];
}

const sources = new Map<string, Source>();

function sourceOf(path: string): Source {
  const known = sources.get(path);
  if (known) return known;
  const code = stripTypeScriptTypes(readFileSync(path, 'utf8'));
  const specifiers = [...code.matchAll(/\b(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+\.ts)'/g)].map(([, specifier = '']) => specifier);
  const imports = specifiers.map((specifier) => resolve(path, '..', specifier)).filter((imported) => existsSync(imported));
  const source = { code, imports };
  sources.set(path, source);
  return source;
}

/** `root`, and every file on the way from it to the changed one. */
function pathsBetween(root: string, changed: string): Set<string> {
  const importers = new Map<string, string[]>();
  const left = [root];
  for (const seen = new Set(left); left.length > 0; ) {
    const path = left.pop() as string;
    for (const imported of sourceOf(path).imports) {
      importers.set(imported, [...(importers.get(imported) ?? []), path]);
      if (seen.has(imported)) continue;
      seen.add(imported);
      left.push(imported);
    }
  }
  const found = new Set([root, changed]);
  for (const path of found) for (const importer of importers.get(path) ?? []) found.add(importer);
  return found;
}

interface Copy {
  changed: string;
  code: string;
  /** the addresses of the modules that it has of its own */
  own: Set<string>;
}

const copies = new Map<string, Copy>();
const copyOf = (url: string | undefined): string | undefined => url?.match(/\?copy=\d+$/)?.[0];

// A copy is what depends on the changed module once more, under addresses of its own; all else is shared.
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const copy = copyOf(context.parentURL) ?? '';
    return copies.get(copy)?.own.has(found.url) ? { ...found, url: found.url + copy } : found;
  },
  load(url, context, next) {
    const copy = copies.get(copyOf(url) ?? '');
    if (!copy) return next(url, context);
    const path = fileURLToPath(url);
    return { format: 'module', source: path === copy.changed ? copy.code : sourceOf(path).code, shortCircuit: true };
  },
});

/** Loads scenarios and trials over a copy of the code. */
export function loadCopy({ file, source }: Change): Promise<typeof import('./run.ts')> {
  const [root, changed] = [new URL('./run.ts', import.meta.url), resolve(file)];
  const name = `?copy=${copies.size}`;
  const own = new Set([...pathsBetween(fileURLToPath(root), changed)].map((path) => pathToFileURL(path).href));
  copies.set(name, { changed, code: stripTypeScriptTypes(source), own });
  return import(root.href + name);
}
