import * as z from 'zod';

export const intentUidPattern = /^[a-zA-Z0-9.-]+:[a-z0-9-]+:v[0-9]+([.][0-9]+)*$/;

/** Splits identifiers into words: `listFloatingIPs` is `list Floating IPs`, and `OAuth2Client` is `OAuth2 Client`. */
export const splitCase = (text: string): string =>
  text
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    // the last of several capitals begins a word, except in a plural acronym; a single capital is not a word, except the article A
    .replace(/(\p{Lu}{2,}|(?<![\p{L}\p{N}])A)(\p{Lu}(?!s(?!\p{Ll}))\p{Ll})/gu, '$1 $2');

/** Converts to kebab-case: `searchProducts` is `search-products`. Empty if nothing is left. */
export const toSlug = (text: string): string =>
  splitCase(text.normalize('NFKD').replace(/\p{M}/gu, ''))
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');

/** The uid with its slug in kebab-case; undefined if more than the slug is wrong. */
export function suggestIntentUid(uid: string): string | undefined {
  if (uid.length > 200) return undefined;
  const { namespace, slug, version } = splitIntentUid(uid);
  const suggested = `${namespace}:${toSlug(slug)}:${version}`;
  return uid.split(':').length === 3 && suggested.length <= 200 && intentUidPattern.test(suggested) ? suggested : undefined;
}

function describeFault(uid: string): string {
  const suggested = suggestIntentUid(uid);
  return suggested === undefined
    ? 'must have the form <namespace>:<intent-slug>:v<version>, for example example.com:convert-currency:v1'
    : `must have a slug of lower-case letters, digits and hyphens, for example ${suggested}`;
}

/** `<namespace>:<slug>:v<version>` (specification section 2.2). */
export const intentUid = z
  .string()
  .max(200)
  .regex(intentUidPattern, { error: ({ input }) => describeFault(String(input)) })
  .meta({ id: 'IntentUid', examples: ['world.example:get-country:v1'] });

export const isIntentUid = (text: string): boolean => intentUid.safeParse(text).success;

export const isNamespace = (text: string): boolean => /^[a-zA-Z0-9.-]+$/.test(text);

export interface IntentUidParts {
  namespace: string;
  slug: string;
  /** with its `v`, for example `v1.2` */
  version: string;
}

/** @param uid - must match {@link intentUidPattern} */
export function splitIntentUid(uid: string): IntentUidParts {
  const [namespace = '', slug = '', version = ''] = uid.split(':');
  return { namespace, slug, version };
}

/** Orders versions numerically: v2 before v10, v1 before v1.1. */
export function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map((version) => version.slice(1).split('.').map(BigInt));
  for (let index = 0; index < Math.max(a?.length ?? 0, b?.length ?? 0); index++) {
    const [x = -1n, y = -1n] = [a?.[index], b?.[index]];
    if (x !== y) return x < y ? -1 : 1;
  }
  return 0;
}
