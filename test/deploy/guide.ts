import { readFileSync } from 'node:fs';

const guide = readFileSync('docs/operations.md', 'utf8');

/** The section of docs/operations.md under this heading, without those below other headings. */
function sectionOf(heading: string): string {
  const section = guide.split(/^#{1,3} /m).find((text) => text.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`docs/operations.md has no section "${heading}".`);
  return section;
}

/** Every command of a section: lines of its code blocks with their continuations, and code in its sentences. */
function* commandsIn(section: string): Generator<string> {
  const blocks = /^( *)```\n(.*?)^ *```$/gms;
  for (const [, , block = ''] of section.matchAll(blocks)) {
    for (const line of block.replaceAll(/\\\n\s*/g, '').split('\n')) yield line.replace(/\s+#.*/, '').trim();
  }
  for (const [, code = ''] of section.replaceAll(blocks, '').matchAll(/`([^`]+)`/g)) yield code.replaceAll(/\s+/g, ' ');
}

/**
 * The one command of docs/operations.md, as it stands there, that begins with these words.
 * @param values - what stands in place of the examples in it
 * @throws if there is none or more than one, or if it lacks one of the examples
 */
export function commandOf(heading: string, beginning: string, values: Record<string, string> = {}): string {
  const found = new Set([...commandsIn(sectionOf(heading))].filter((command) => command.startsWith(beginning)));
  const [command = ''] = found;
  if (found.size !== 1) throw new Error(`"${heading}" of docs/operations.md has ${found.size} commands that begin with "${beginning}".`);
  return Object.entries(values).reduce((text, [example, value]) => {
    if (!text.includes(example)) throw new Error(`"${text}" in docs/operations.md does not contain "${example}".`);
    return text.replaceAll(example, () => value);
  }, command);
}
