import { createHash } from 'node:crypto';
import { toSlug } from '../../schemas/intent-uid.ts';
import type { AddNote } from './node.ts';
import { toPlainText } from './plain-text.ts';
import { fitName } from './text.ts';

/** Keeps uids below 200 characters even with long namespaces. */
const maxSlugLength = 100;
const maxNamespaceLength = 80;

export const isNamespace = (text: string): boolean => text.length <= maxNamespaceLength && /^[a-zA-Z0-9.-]+$/.test(text);

/** `listOpenOrders` and `list_open_orders` become `list-open-orders`; empty if no character is usable. */
export function makeSlug(text: string): string {
  const slug = toSlug(text);
  return slug.length <= maxSlugLength ? slug : `${slug.slice(0, maxSlugLength - 9).replace(/-$/, '')}-${digest(slug)}`;
}

/** Eight hexadecimal digits. */
export const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8);

/** A slug that does not split words at capitals. */
export const makeFileName = (name: string): string => makeSlug(name.replace(/['\u2019]/g, '').toLowerCase());

/** `GET /orders/{orderId}/lines` becomes `get-orders-by-order-id-lines`. */
export function makePathSlug(method: string, path: string): string {
  const words = path.replace(/\{([^}]*)\}/g, (_, name: string) => `/by ${name}/`);
  const slug = makeSlug(`${method} ${words}`);
  // a path in a non-Latin script would leave only the method
  const isAscii = /[^\p{ASCII}]/u.test(path) === false;
  return isAscii ? slug : `${slug}-${digest(path)}`;
}

const maxNameLength = 80;

/** The first sentence, without its full stop; abbreviations do not end it. */
const firstSentence = (text: string): string =>
  (/^.*?(?<!\b(?:e\.g|i\.e|etc|vs|cf|no|approx))[.!?](?=\s+\p{Lu}|\s*$)/su.exec(text)?.[0] ?? text).replace(/[.:\s]+$/, '');

/** Function names: `getActionsById()`, `list_all_orders`. */
const isIdentifier = (text: string): boolean => /^[A-Za-z]\w*(\(\)|_\w*)$|^[a-z]+([A-Z][a-z0-9]+){2,}$/.test(text);

/** Sentences that address the reader or describe the endpoint instead of its action, and URLs. */
const isProse = (text: string): boolean =>
  /\?$|[{}]|^\/|^[A-Z]+ \/|^https?:|^(this|these|you|your|we|it|with|use this|the following|if|when|note|warning|deprecated|an? (api )?(method|endpoint|operation))\b/i.test(
    text,
  );

/** The title in a summary; undefined if it is too long or not a title. */
export function readTitle(summary: string | undefined, path: string, addNote: AddNote): string | undefined {
  const title = fitName(firstSentence(toPlainText(summary ?? '').split(/\n\s*\n/)[0] ?? ''), path, addNote, Infinity);
  if (title === undefined || [...title].length > maxNameLength || isProse(title) || isIdentifier(title)) return undefined;
  return title.charAt(0).toUpperCase() + title.slice(1);
}

const smallMajor = /^v?([1-9])(?:\.\d+)*(?:[-+ ].*)?$/i;

/** `v2` or `1.0`; a bare number is a version only at the beginning of a path. */
const versionOf = (segment: string, isFirst: boolean): string | undefined =>
  isFirst || /[v.]/i.test(segment) ? smallMajor.exec(segment)?.[1] : undefined;

/**
 * The version that all addresses share, else that of the document. Ignores dates, large numbers and 0.
 * @param addresses - paths of the operations, including the path of their server
 */
export function majorVersion(document: string, addresses: readonly string[]): string | undefined {
  const inPaths = addresses.map((address) =>
    address
      .split('/')
      .filter((segment) => segment !== '')
      .map((segment, at) => versionOf(segment, at === 0))
      .find((major) => major !== undefined),
  );
  const [first] = inPaths;
  const shared = inPaths.every((major) => major === first) ? first : undefined;
  const major = shared ?? smallMajor.exec(document.trim())?.[1];
  return major === undefined ? undefined : `v${major}`;
}
