import { isObject, type JsonObject, type JsonValue, pointer } from '../json/json.ts';

export interface Cut {
  /** JSON pointer to the first dropped item or member, or to a cut text */
  at: string;
  /** total number of items or members; of a text, of characters */
  total: number;
}

type Container = JsonObject | JsonValue[];

/** Longest pointer that is reported, in characters: it uses part of the answer's space. */
const maxPointerLength = 200;

const isContainer = (value: JsonValue | undefined): value is Container => Array.isArray(value) || isObject(value);

const bytesOf = (value: JsonValue): number => Buffer.byteLength(JSON.stringify(value));

/**
 * Shortens an answer to at most `maxBytes` of JSON, including the member `cut`. The largest list or object, at any depth, is shortened from its end
 * and everything else is kept; more is removed only if that does not suffice. `cut` becomes the last member of the answer, unless the answer
 * already has a member of that name or there is no space for it.
 * @param maxBytes - at least 100; default: no limit
 * @returns the answer, and a description of the cut
 */
export function cutAnswer(answer: JsonObject, maxBytes = Number.POSITIVE_INFINITY): { body: JsonObject; cut?: Cut } {
  if (maxBytes === Number.POSITIVE_INFINITY || bytesOf(answer) <= maxBytes) return { body: answer };
  for (let reserved = 0; ; ) {
    const { body, cut } = shorten(answer, maxBytes - reserved);
    const marked = Object.hasOwn(answer, 'cut') ? body : { ...body, cut: { ...cut } };
    const excess = bytesOf(marked) - maxBytes;
    if (excess <= 0) return { body: marked, cut };
    if (reserved + excess >= maxBytes) return { body, cut };
    reserved += Math.max(excess, 16);
  }
}

function shorten(answer: JsonObject, maxBytes: number): { body: JsonObject; cut: Cut } {
  const { value, content_type: mediaType, ...others } = answer;
  if (typeof value === 'string' && typeof mediaType === 'string' && Object.keys(others).length === 0) {
    const left = maxBytes - bytesOf({ value: '', content_type: mediaType });
    return { body: { value: shortenText(value, left), content_type: mediaType }, cut: { at: '/value', total: [...value].length } };
  }
  const { shortened, at, total } = shortenContainer(answer, maxBytes, []);
  return { body: shortened as JsonObject, cut: { at: pointer(at), total } };
}

/** The longest beginning of a text that takes at most `maxBytes` as JSON, without quotation marks. */
function shortenText(text: string, maxBytes: number): string {
  let [left, end] = [maxBytes, 0];
  for (const character of text) {
    left -= bytesOf(character) - 2;
    if (left < 0) break;
    end += character.length;
  }
  return text.slice(0, end);
}

interface Shortened {
  shortened: Container;
  /** path to the first dropped entry */
  at: PropertyKey[];
  total: number;
}

function shortenContainer(container: Container, maxBytes: number, path: readonly PropertyKey[]): Shortened {
  const names: PropertyKey[] = Array.isArray(container) ? [...container.keys()] : Object.keys(container);
  const valueAt = (index: number): JsonValue | undefined => Reflect.get(container, names[index] ?? '');
  const sizes = names.map((name, index) => (typeof name === 'string' ? bytesOf(name) + 1 : 0) + bytesOf(valueAt(index) ?? null) + 1);
  // two brackets minus the one comma that `sizes` counts too many
  const excess = sizes.reduce((sum, size) => sum + size, 1) - maxBytes;
  const keep = (indexes: readonly number[], inner?: Shortened): Container => {
    const values = indexes.map((index, at) => (inner && at === indexes.length - 1 ? inner.shortened : (valueAt(index) ?? null)));
    return Array.isArray(container) ? values : Object.fromEntries(indexes.map((index, at) => [names[index], values[at] ?? null]));
  };

  /** Shortens the content of one entry by `byBytes`; undefined if the entry is too small. */
  const shortenEntry = (index: number, byBytes: number): Shortened | undefined => {
    const value = valueAt(index);
    const innerPath = [...path, names[index] ?? ''];
    if (!isContainer(value) || pointer(innerPath).length > maxPointerLength) return undefined;
    const bytes = bytesOf(value);
    return bytes > 2 && bytes - byBytes >= 2 ? shortenContainer(value, bytes - byBytes, innerPath) : undefined;
  };

  const largest = sizes.reduce((best, size, index) => (size > (sizes[best] ?? 0) ? index : best), 0);
  const inner = shortenEntry(largest, excess);
  if (inner) {
    const name = names[largest] ?? '';
    const shortened = Array.isArray(container) ? container.with(Number(name), inner.shortened) : { ...container, [name]: inner.shortened };
    return { ...inner, shortened };
  }
  const here = (index: number): PropertyKey[] => {
    const at = [...path, names[index] ?? ''];
    return pointer(at).length <= maxPointerLength ? at : [...path];
  };
  // the order of members does not matter, so only the one that is too large is dropped
  if (!Array.isArray(container) && excess <= (sizes[largest] ?? 0)) {
    return { shortened: keep([...names.keys()].filter((index) => index !== largest)), at: here(largest), total: names.length };
  }
  let [count, bytes] = [0, 1];
  while (count < sizes.length && bytes + (sizes[count] ?? 0) <= maxBytes) bytes += sizes[count++] ?? 0;
  const fitting = [...names.keys()].slice(0, count);
  // keeps part of the first entry that does not fit; of an array item only if it is the first item
  const partial = Array.isArray(container) && count > 0 ? undefined : shortenEntry(count, bytes + (sizes[count] ?? 0) - maxBytes);
  if (partial) return { ...partial, shortened: keep([...fitting, count], partial) };
  return { shortened: keep(fitting), at: here(count), total: names.length };
}
