import { readFileSync } from 'node:fs';
import type { Change } from './plant.ts';

/** A bug of a line or two, and what has to notice it. Missing conditions are none of these: each condition is left out in turn anyway. */
export interface PlantedBug {
  name: string;
  file: string;
  line: string;
  becomes: string;
  /** the scenario or trial that catches it */
  caughtBy: string;
}

/** In the file, each has its name, the place and who catches it, and the change: what follows `-` becomes what follows `+`. */
export const plantedBugs: PlantedBug[] = readFileSync(new URL('./planted-bugs.txt', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n\n')
  .map((text) => {
    const [name = '', place = '', ...changes] = text.split('\n');
    const [, file = '', caughtBy = ''] = /^(\S+): (.*)$/.exec(place) ?? [];
    const after = (sign: string) => changes.flatMap((one) => (one.startsWith(sign) ? [one.slice(1)] : [])).join('\n');
    return { name, file, line: after('-'), becomes: after('+'), caughtBy };
  });

/**
 * The code with one bug.
 * @throws Error if its line is not there exactly once
 */
export function withBug({ name, file, line, becomes }: PlantedBug): Change {
  const source = readFileSync(file, 'utf8');
  if (source.split(line).length !== 2) throw new Error(`"${name}" cannot be planted: its line is not in ${file} exactly once.`);
  return { file, source: source.replace(line, () => becomes) };
}
