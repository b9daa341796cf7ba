import { intentUidPattern, splitIntentUid } from '../../../schemas/intent-uid.ts';

const anySegment = '*';

export const everyIntent = `${anySegment}:${anySegment}:${anySegment}:execute`;

export const oneIntent = (intentUid: string): string => `${intentUid}:execute`;

export const oneNamespace = (namespace: string): string => `${namespace}:${anySegment}:${anySegment}:execute`;

export function coversEntry(entry: string, other: string): boolean {
  const segments = entry.split(':');
  const otherSegments = other.split(':');
  return (
    segments.length === otherSegments.length && segments.every((segment, at) => segment === anySegment || segment === otherSegments[at])
  );
}

/** Whether a PAT's scope names the intent: segments are compared exactly, and `*` matches a whole one. */
export const isPermitted = (scope: readonly string[], intentUid: string): boolean =>
  intentUidPattern.test(intentUid) && scope.some((entry) => coversEntry(entry, oneIntent(intentUid)));

/** Namespaces are domain names, so a prohibition applies whatever their letter case. */
export const foldNamespace = (entry: string): string => {
  const { namespace } = splitIntentUid(entry);
  return namespace.toLowerCase() + entry.slice(namespace.length);
};

export const isRuledOut = (prohibitions: readonly string[], entry: string): boolean =>
  prohibitions.some((prohibited) => coversEntry(foldNamespace(prohibited), foldNamespace(entry)));

export const isProhibited = ({ prohibited }: { prohibited: readonly string[] }, intentUid: string): boolean =>
  isRuledOut(prohibited, oneIntent(intentUid));
