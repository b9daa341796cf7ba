import { intentUidPattern, splitIntentUid } from '../../../schemas/intent-uid.ts';

/** The last segment or fragment of a URI: the term in its vocabulary. */
export const termOf = (uri: string): string => uri.split(/[/#:?]/).at(-1) ?? '';

const anySegment = '*';

export const everyIntent = `${anySegment}:${anySegment}:${anySegment}:execute`;

export const oneIntent = (intentUid: string): string => `${intentUid}:execute`;

export function coversEntry(entry: string, other: string): boolean {
  const segments = entry.split(':');
  const otherSegments = other.split(':');
  return (
    segments.length === otherSegments.length && segments.every((segment, at) => segment === anySegment || segment === otherSegments[at])
  );
}

/** All entries that cover an entry: itself, and each combination of its segments with `*`. None if it is not of four segments. */
export function coveringEntries(entry: string): string[] {
  const segments = entry.split(':');
  if (segments.length !== 4) return [];
  return segments
    .map((segment) => (segment === anySegment ? [segment] : [segment, anySegment]))
    .reduce((heads, tails) => heads.flatMap((head) => tails.map((tail) => `${head}:${tail}`)));
}

/** Whether a PAT's scope names the intent: segments are compared exactly, and `*` matches a whole one. */
export const isPermitted = (scope: readonly string[], intentUid: string): boolean =>
  intentUidPattern.test(intentUid) && scope.some((entry) => coversEntry(entry, oneIntent(intentUid)));

/** Namespaces are domain names, so a prohibition applies whatever their letter case. */
export const foldNamespace = (entry: string): string => {
  const { namespace } = splitIntentUid(entry);
  return namespace.toLowerCase() + entry.slice(namespace.length);
};

const folded = new WeakMap<readonly string[], ReadonlySet<string>>();

/** @param prohibitions - folded once for each list, by identity */
export function isRuledOut(prohibitions: readonly string[], entry: string): boolean {
  const known = folded.get(prohibitions) ?? new Set(prohibitions.map(foldNamespace));
  folded.set(prohibitions, known);
  return coveringEntries(foldNamespace(entry)).some((covering) => known.has(covering));
}

export const isProhibited = ({ prohibited }: { prohibited: readonly string[] }, intentUid: string): boolean =>
  isRuledOut(prohibited, oneIntent(intentUid));
