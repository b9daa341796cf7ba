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
 * @param keepsPlaces - elements that numbers pass over become null, so that the same pointers select the same from the result
 */
export const selectFields = (value: JsonValue, pointers: readonly string[] | undefined, keepsPlaces = false): JsonValue =>
  pointers === undefined ? value : (select(value, pointers.map(segmentsOf), keepsPlaces) ?? (Array.isArray(value) ? [] : {}));

/** What may leave the gate of an answer. It may be applied again: to an answer that was kept, or after it has been applied already. */
export const selectAllowed = (value: JsonValue, { fields }: { fields?: readonly string[] | undefined }): JsonValue =>
  selectFields(value, fields, true);

const isNumber = (segment = ''): boolean => /^\d+$/.test(segment);

function select(value: JsonValue, paths: string[][], keepsPlaces: boolean): JsonValue | undefined {
  if (paths.some((path) => path.length === 0)) return value;
  if (Array.isArray(value)) {
    const chosen = value.map((element, at) =>
      select(
        element,
        paths.flatMap(([first = '', ...rest]) => (first === String(at) ? [rest] : isNumber(first) ? [] : [[first, ...rest]])),
        keepsPlaces,
      ),
    );
    if (keepsPlaces && paths.some(([first]) => isNumber(first))) {
      const last = chosen.findLastIndex((element) => element !== undefined);
      return last < 0 ? undefined : chosen.slice(0, last + 1).map((element) => element ?? null);
    }
    return chosen.some((element) => element !== undefined) ? chosen.filter((element) => element !== undefined) : undefined;
  }
  if (!isObject(value)) return undefined;
  const members = Object.entries(value).flatMap(([name, member]): [string, JsonValue][] => {
    const further = paths.filter(([first]) => first === name).map(([, ...rest]) => rest);
    const chosen = further.length === 0 ? undefined : select(member, further, keepsPlaces);
    return chosen === undefined ? [] : [[name, chosen]];
  });
  return members.length > 0 ? Object.fromEntries(members) : undefined;
}
