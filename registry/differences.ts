import { isObject, pointer } from '../functions/core/json/json.ts';
import { canonicalText } from '../schemas/canonical.ts';

export interface Difference {
  /** JSON pointer that refers to parameters by name instead of index */
  path: string;
  /** undefined if added */
  before?: unknown;
  /** undefined if removed */
  after?: unknown;
}

type Members = Record<string, unknown>;

const isNamed = (value: unknown): value is { name: string }[] =>
  Array.isArray(value) && value.every((item) => isObject(item) && typeof item.name === 'string');

const byName = (list: { name: string }[]): Members => Object.fromEntries(list.map((item) => [item.name, item]));

/** The differences between two JSON values in normal form. Lists of named things are compared by name, and by order only if nothing else differs. */
export function findDifferences(before: unknown, after: unknown, path: readonly string[] = []): Difference[] {
  if (isObject(before) && isObject(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) => findDifferences(before[name], after[name], [...path, name]));
  }
  if (isNamed(before) && isNamed(after)) {
    const inside = findDifferences(byName(before), byName(after), path);
    if (inside.length > 0) return inside;
    const [earlier, later] = [before, after].map((list) => list.map(({ name }) => name));
    return isSame(earlier, later) ? [] : [{ path: pointer(path), before: earlier, after: later }];
  }
  return isSame(before, after)
    ? []
    : [{ path: pointer(path), ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
}

/** Ignores the order of members. */
const isSame = (left: unknown, right: unknown): boolean => canonicalText(left) === canonicalText(right);
