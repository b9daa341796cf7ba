import { isObject, type JsonObject, type JsonValue, pointer } from '../json.ts';

export interface Cut {
  /** JSON pointer to the first dropped item or member, or to a cut text */
  at: string;
  /** number of items or members in all; of a text, characters */
  total: number;
}

type Container = JsonObject | JsonValue[];

/** Longest pointer to follow, in characters: it uses part of the answer's space. */
const maxPointerLength = 200;

const isContainer = (value: JsonValue | undefined): value is Container => Array.isArray(value) || isObject(value);

const bytesOf = (value: JsonValue): number => Buffer.byteLength(JSON.stringify(value));

/**
 * Shortens an answer to at most `maxBytes` of JSON, what is said about it included. The largest list or object is shortened from its end, however
 * deep it is, and everything beside it stays; only if that does not suffice, more is left out. `cut` becomes the last member of the answer, unless
 * the answer has a member of that name already, or there is no space for it.
 * @param maxBytes - at least 100; no limit without it
 * @returns the answer, and what was cut from it
 */
export function cutAnswer(answer: JsonObject, maxBytes = Number.POSITIVE_INFINITY): { body: JsonObject; cut?: Cut } {
  if (bytesOf(answer) <= maxBytes) return { body: answer };
  for (let reserved = 0; ; ) {
    const { body, cut } = shorten(answer, maxBytes - reserved);
    const told = Object.hasOwn(answer, 'cut') ? body : { ...body, cut: { ...cut } };
    const excess = bytesOf(told) - maxBytes;
    if (excess <= 0) return { body: told, cut };
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

/** The beginning of a text with at most `maxBytes` between its quotation marks. */
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
  // two brackets, and a comma fewer than there are entries
  const excess = sizes.reduce((sum, size) => sum + size, 1) - maxBytes;
  const keep = (indexes: readonly number[], inner?: Shortened): Container => {
    const values = indexes.map((index, at) => (inner && at === indexes.length - 1 ? inner.shortened : (valueAt(index) ?? null)));
    return Array.isArray(container) ? values : Object.fromEntries(indexes.map((index, at) => [names[index], values[at] ?? null]));
  };

  /** Shortens the inside of one entry by so many bytes; undefined if it is too small. */
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
  // members have no order that matters, so one that is too large does not take the others with it
  if (!Array.isArray(container) && excess <= (sizes[largest] ?? 0)) {
    return { shortened: keep([...names.keys()].filter((index) => index !== largest)), at: here(largest), total: names.length };
  }
  let [count, bytes] = [0, 1];
  while (count < sizes.length && bytes + (sizes[count] ?? 0) <= maxBytes) bytes += sizes[count++] ?? 0;
  const fitting = [...names.keys()].slice(0, count);
  // the beginning of what does not fit, but of an item only if it is the first
  const partial = Array.isArray(container) && count > 0 ? undefined : shortenEntry(count, bytes + (sizes[count] ?? 0) - maxBytes);
  if (partial) return { ...partial, shortened: keep([...fitting, count], partial) };
  return { shortened: keep(fitting), at: here(count), total: names.length };
}
