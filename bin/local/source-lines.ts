import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';

/** A log text whose stack frames name lines of the sources instead of lines of bundles that have source maps. */
export function toSourceLines(text: string): string {
  const maps = new Map<string, SourceMap | undefined>();
  return text.replace(/([^\s"(]+\.cjs):(\d+):(\d+)/g, (place, bundle: string, line, column) => {
    const map = maps.get(bundle) ?? readMap(`${bundle}.map`);
    maps.set(bundle, map);
    const entry = map?.findEntry(Number(line) - 1, Number(column) - 1);
    // the bundle has been moved since
    return entry && 'originalSource' in entry
      ? `${entry.originalSource.replace(/^(\.\.\/)+/, '')}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
      : place;
  });
}

const readMap = (file: string): SourceMap | undefined =>
  existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) : undefined;
