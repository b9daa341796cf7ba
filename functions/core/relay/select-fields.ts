import type { Intent } from '../../../schemas/intent.ts';
import { isObject, type JsonValue } from '../json/json.ts';
import type { ApiError } from '../runtime/api-error.ts';

const segmentsOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));

/**
 * Selects parts of a value and keeps its structure. In an array, a numeric segment selects one element; a name applies to every element.
 * Missing parts are left out.
 * @param pointers - JSON pointers; undefined selects the whole value
 * @param keepsIndexes - replaces skipped elements with null, so that the same pointers select the same parts of the result
 */
export const selectFields = (value: JsonValue, pointers: readonly string[] | undefined, keepsIndexes = false): JsonValue =>
  pointers === undefined ? value : (select(value, [treeOf(pointers)], keepsIndexes) ?? (Array.isArray(value) ? [] : {}));

/** Those of the JSON pointers that select nothing, found in one walk: a caller may give 50 of them, and an answer have 200,000 elements. */
export function findMissing(value: JsonValue, pointers: readonly string[] = []): string[] {
  const missing = new Set(pointers);
  const visit = (at: JsonValue, trees: readonly Tree[]): void => {
    for (const { ends } of trees) for (const pointer of ends) missing.delete(pointer);
    const inner = trees.filter(({ members }) => members.size > 0);
    if (missing.size === 0 || inner.length === 0 || !(Array.isArray(at) || isObject(at))) return;
    const named = Array.isArray(at) ? inner.map(namedOf).filter(({ members }) => members.size > 0) : [];
    for (const [name, member] of Object.entries(at)) visit(member, [...named, ...inner.flatMap(({ members }) => members.get(name) ?? [])]);
  };
  visit(value, [treeOf(pointers)]);
  return pointers.filter((pointer) => missing.has(pointer));
}

/** Selects the parts that the intent allows to leave the gate. Idempotent, because stored answers are narrowed again. */
export const selectAllowed = (value: JsonValue, { fields }: Pick<Intent, 'fields'>): JsonValue => selectFields(value, fields, true);

/** Limits `upstream_body` to the parts that the intent allows to leave the gate. */
export function narrowShownBody<T extends { upstream_body?: unknown }>(details: T, { fields }: Pick<Intent, 'fields'>): T {
  const { upstream_body: body, ...others } = details;
  if (body === undefined || fields === undefined) return details;
  const selected = selectAllowed(body as JsonValue, { fields });
  const isNothing = typeof selected !== 'object' || selected === null || Object.keys(selected).length === 0;
  return (isNothing ? others : { ...others, upstream_body: selected }) as T;
}

/** Ends the message of a refusal that has an `upstream_body`. */
export const saysWhy = ' details.upstream_body says why.';

/** Applies {@link narrowShownBody} to a refusal. A scalar body is removed, because no pointer leads into it. */
export function narrowRefusal(error: ApiError, intent: Pick<Intent, 'fields'>): ApiError {
  const details: Record<string, unknown> = narrowShownBody(error.details, intent);
  if (details === error.details) return error;
  return error.with({ details, ...(details.upstream_body === undefined && { message: error.message.replace(saysWhy, '') }) });
}

/** Pointers as a tree of segments, so that an answer is walked once, whatever their number. */
interface Tree {
  /** the pointers that end here, which select the whole of it */
  ends: string[];
  members: Map<string, Tree>;
  /** cached copy without numeric members, which applies to every element of an array */
  named?: Tree;
}

function treeOf(pointers: readonly string[]): Tree {
  const root: Tree = { ends: [], members: new Map() };
  for (const pointer of pointers) {
    let at = root;
    for (const segment of segmentsOf(pointer)) {
      const next: Tree = at.members.get(segment) ?? { ends: [], members: new Map() };
      at.members.set(segment, next);
      at = next;
    }
    at.ends.push(pointer);
  }
  return root;
}

const isNumber = (segment: string): boolean => /^\d+$/.test(segment);

function namedOf(tree: Tree): Tree {
  tree.named ??= { ends: [], members: new Map([...tree.members].filter(([segment]) => !isNumber(segment))) };
  return tree.named;
}

function select(value: JsonValue, trees: readonly Tree[], keepsIndexes: boolean): JsonValue | undefined {
  if (trees.some(({ ends }) => ends.length > 0)) return value;
  const membersOf = (name: string) => trees.flatMap(({ members }) => members.get(name) ?? []);
  if (Array.isArray(value)) {
    const named = trees.map(namedOf).filter(({ members }) => members.size > 0);
    const isNumbered = trees.some((tree) => tree.members.size > namedOf(tree).members.size);
    const chosen = value.map((element, at) => {
      const further = isNumbered ? [...named, ...membersOf(String(at))] : named;
      return further.length === 0 ? undefined : select(element, further, keepsIndexes);
    });
    if (keepsIndexes && isNumbered) {
      const last = chosen.findLastIndex((element) => element !== undefined);
      return last < 0 ? undefined : chosen.slice(0, last + 1).map((element) => element ?? null);
    }
    return chosen.some((element) => element !== undefined) ? chosen.filter((element) => element !== undefined) : undefined;
  }
  if (!isObject(value)) return undefined;
  const members = Object.entries(value).flatMap(([name, member]): [string, JsonValue][] => {
    const further = membersOf(name);
    const chosen = further.length === 0 ? undefined : select(member, further, keepsIndexes);
    return chosen === undefined ? [] : [[name, chosen]];
  });
  return members.length > 0 ? Object.fromEntries(members) : undefined;
}
