import { type AddNote, pathOf } from './node.ts';
import { type Operation, readParameters } from './operation.ts';

/** `{id}`, whose pattern may have braces, too; or `:id`, `:id(\d+)`, `:id?`. The verb in `/orders/{id}:cancel` is not a placeholder. */
const place = /\{([^{}:]*(?::(?:[^{}]|\{[^{}]*\})*)?)\}|(?<![\w}]):(\w[\w-]*)(?:\([^()]*\))?(?:[?*+](?=\/|$))?/g;

/** The name in `{id:int}`, `{id?}`, `{+path}`, `{path*}`, `{**path}` or `{name=projects/*}`. */
const bareName = (inside: string): string => /^\s*[+*]*([^:=?*+]*)/.exec(inside)?.[1]?.trim() ?? '';

const isOfSegments = (inside: string): boolean => /^\s*[+*]|^[^:=]*[+*]\s*$|:\s*path\s*$|=.*[/*]/.test(inside);

const fold = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

/** Writes the places of declared path parameters as OpenAPI does; frameworks have other spellings. What names no such parameter stays as it is. */
export function writePlaces<T extends Operation>(operation: T, addNote: AddNote): T {
  const { path, node, pathItem } = operation;
  const declared = readParameters(pathItem, node).flatMap(({ in: where, name }) => (where === 'path' ? [String(name)] : []));
  const note = (words: string) => addNote(pathOf(node), words);
  const inBraces = path.replace(place, (whole, inside?: string) => {
    if (inside === undefined || declared.includes(inside)) return whole;
    const bare = bareName(inside);
    const similar = declared.find((name) => fold(name) === fold(bare) && !path.includes(`{${name}}`));
    const name = declared.includes(bare) ? bare : similar;
    if (name === undefined) return whole;
    if (name !== bare) note(`the path variable ${bare} was read as the path parameter ${name}`);
    if (isOfSegments(inside)) note(`the path parameter ${name} is one segment: slashes in it are percent-encoded`);
    return `{${name}}`;
  });
  const isMissing = (name: string) => declared.includes(name) && !inBraces.includes(`{${name}}`);
  const written = inBraces.replace(place, (whole, _, name = '') => {
    if (isMissing(name)) return `{${name}}`;
    // in `:from-:to`, the hyphen belongs to the path
    const [plain = ''] = /^\w+/.exec(name) ?? [];
    return isMissing(plain) ? `{${plain}}${whole.slice(1 + plain.length)}` : whole;
  });
  return { ...operation, path: written };
}
