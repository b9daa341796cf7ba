import { isObject, type JsonValue } from '../json.ts';

/** A JSON pointer (RFC 6901) as the names that it consists of. */
const segmentsOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));

/**
 * What pointers lead to, in the places where it stands. In an array, a pointer goes on in the element that it numbers; one that continues
 * with a name goes on in every element. What is not there is left out.
 * @param pointers - JSON pointers; undefined for the whole
 */
export const selectFields = (value: JsonValue, pointers: readonly string[] | undefined): JsonValue =>
  pointers === undefined ? value : (select(value, pointers.map(segmentsOf)) ?? (Array.isArray(value) ? [] : {}));

function select(value: JsonValue, paths: string[][]): JsonValue | undefined {
  if (paths.some((path) => path.length === 0)) return value;
  if (Array.isArray(value)) {
    const chosen = value.map((element, at) =>
      select(
        element,
        paths.flatMap(([first = '', ...rest]) => (first === String(at) ? [rest] : /^\d+$/.test(first) ? [] : [[first, ...rest]])),
      ),
    );
    return chosen.some((element) => element !== undefined) ? chosen.filter((element) => element !== undefined) : undefined;
  }
  if (!isObject(value)) return undefined;
  const members = Object.entries(value).flatMap(([name, member]): [string, JsonValue][] => {
    const further = paths.filter(([first]) => first === name).map(([, ...rest]) => rest);
    const chosen = further.length === 0 ? undefined : select(member, further);
    return chosen === undefined ? [] : [[name, chosen]];
  });
  return members.length > 0 ? Object.fromEntries(members) : undefined;
}
