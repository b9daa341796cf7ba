import { createHash } from 'node:crypto';
import { toSlug } from '../../../schemas/intent-uid.ts';
import type { TakeNote } from './node.ts';
import { toPlainText } from './plain-text.ts';
import { fitName } from './text.ts';

/** Longest slug, so that a uid with a long namespace stays within 200 characters. */
const maxSlugLength = 100;
export const maxNamespaceLength = 80;

export const isNamespace = (text: string): boolean => text.length <= maxNamespaceLength && /^[a-zA-Z0-9.-]+$/.test(text);

const splitCase = (text: string): string => text.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2');

/** A slug that is not too long: `listOpenOrders` and `list_open_orders` are `list-open-orders`. Empty if nothing of the text can stand in one. */
export function makeSlug(text: string): string {
  const slug = toSlug(text);
  return slug.length <= maxSlugLength ? slug : `${slug.slice(0, maxSlugLength - 9).replace(/-$/, '')}-${digest(slug)}`;
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8);

/** `GET /orders/{orderId}/lines` is `get-orders-by-order-id-lines`. */
export function makePathSlug(method: string, path: string): string {
  const words = path.replace(/\{([^}]*)\}/g, (_, name: string) => `/by ${name}/`);
  const slug = makeSlug(`${method} ${words}`);
  // a path in another script leaves only the method, which many operations have
  const isTelling = /[^\p{ASCII}]/u.test(path) === false;
  return isTelling ? slug : `${slug}-${digest(path)}`;
}

/** `listOpenOrders` is `List open orders`. */
export function humanize(operationId: string): string {
  const words = splitCase(operationId)
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .split(' ')
    .map((word) => (/^[A-Z0-9]+$/.test(word) ? word : word.toLowerCase()));
  const text = words.join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Longest name, so that a list of names can be read. */
const maxNameLength = 80;

/** The first sentence, without its full stop. An abbreviation ends none. */
const firstSentence = (text: string): string =>
  (/^.*?(?<!\b(?:e\.g|i\.e|etc|vs|cf|no|approx))[.!?](?=\s+\p{Lu}|\s*$)/su.exec(text)?.[0] ?? text).replace(/[.:\s]+$/, '');

/** Whether a text is the name of a function rather than words: `getActionsById()`, `list_all_orders`. */
const isIdentifier = (text: string): boolean => /^[A-Za-z]\w*(\(\)|_\w*)$|^[a-z]+([A-Z][a-z0-9]+){2,}$/.test(text);

/**
 * A name that people can read: the first of the texts whose first sentence is short enough, else the first id in words.
 * @param ids - such as `listOpenOrders`; the last one is never empty
 */
export function chooseName(
  texts: readonly (string | undefined)[],
  ids: readonly (string | undefined)[],
  path: string,
  take: TakeNote,
): string {
  const sentences = texts.map((text) => fitName(firstSentence(toPlainText(text ?? '').split(/\n\s*\n/)[0] ?? ''), path, take, Infinity));
  const [short] = sentences.filter((sentence) => sentence !== undefined && [...sentence].length <= maxNameLength);
  const named = ids.map((id) => fitName(humanize(id ?? ''), path, take, maxNameLength)).find((name) => name !== undefined);
  const chosen = short !== undefined && isIdentifier(short) ? humanize(short) : (short ?? named ?? '');
  return chosen.charAt(0).toUpperCase() + chosen.slice(1);
}

/** The major version: the first number in the text. `2.4.1`, `v2` and `release-2` are `v2`. */
export function majorVersion(version: string | undefined): string | undefined {
  const [digits] = /[0-9]{1,9}/.exec(version ?? '') ?? [];
  return digits === undefined ? undefined : `v${Number(digits)}`;
}
