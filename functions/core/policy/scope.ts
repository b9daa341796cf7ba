import { intentUidPattern, splitIntentUid } from '../../../schemas/intent-uid.ts';

const anySegment = '*';

/** The scope entry that permits every intent. */
export const everyIntent = `${anySegment}:${anySegment}:${anySegment}:execute`;

/** The scope entry that permits exactly one intent. */
export const oneIntent = (intentUid: string): string => `${intentUid}:execute`;

/** The scope entry that permits all intents of a namespace. */
export const oneNamespace = (namespace: string): string => `${namespace}:${anySegment}:${anySegment}:execute`;

/** Whether `entry` permits whatever `other` permits. */
export function coversEntry(entry: string, other: string): boolean {
  const segments = entry.split(':');
  const otherSegments = other.split(':');
  return (
    segments.length === otherSegments.length && segments.every((segment, at) => segment === anySegment || segment === otherSegments[at])
  );
}

/** Whether a PAT's scope names the intent: segment by segment, exactly, `*` standing for a whole segment. */
export const isPermitted = (scope: readonly string[], intentUid: string): boolean =>
  intentUidPattern.test(intentUid) && scope.some((entry) => coversEntry(entry, oneIntent(intentUid)));

/** Namespaces are domain names, so a prohibition applies whatever their letter case. */
export const foldNamespace = (entry: string): string => {
  const { namespace } = splitIntentUid(entry);
  return namespace.toLowerCase() + entry.slice(namespace.length);
};

/** Whether `prohibitions` reach whatever `entry` permits. */
export const isRuledOut = (prohibitions: readonly string[], entry: string): boolean =>
  prohibitions.some((prohibited) => coversEntry(foldNamespace(prohibited), foldNamespace(entry)));

/** Whether the policy's prohibitions name the intent. They win over every permission. */
export const isProhibited = ({ prohibited }: { prohibited: readonly string[] }, intentUid: string): boolean =>
  isRuledOut(prohibited, oneIntent(intentUid));
