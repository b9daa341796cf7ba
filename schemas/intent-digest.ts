import * as z from 'zod';
import { canonicalDigest } from './canonical.ts';

/** The members that a digest covers, in the order of their fingerprints: what an agent reads before it executes an intent. */
export const digestedMembers = [
  'intent_name',
  'description',
  'input_parameters',
  'output_parameters',
  'endpoint',
  'tags',
  'category',
  'fields',
] as const;

type Digested = { intent_uid: string } & { [name in (typeof digestedMembers)[number]]?: unknown };

/** Long enough to show which member differs; the hash of the whole shows whether any does. */
const fingerprintLength = 4;

const pattern = new RegExp(`^[\\w-]{43}[.](?:[\\w-]{${fingerprintLength}}){${digestedMembers.length}}$`);

export const intentDigest = z
  .string()
  .regex(pattern, 'must be the digest of an intent as search and details show it')
  .meta({ description: 'identifies the state of an intent; send it in If-Match to execute the intent only as it was read' });

/**
 * Identifies the state of an intent: SHA-256 of the canonical form (RFC 8785) of what agents can read of it, in base64url, a dot, and a
 * short fingerprint of each member, so that changed members can be named without the earlier state.
 */
export function digestIntent(intent: Digested): string {
  const content = { ...intent, tags: intent.tags ?? [] };
  const whole = canonicalDigest([intent.intent_uid, ...digestedMembers.map((name) => content[name] ?? null)]);
  return `${whole}.${digestedMembers.map((name) => canonicalDigest(content[name]).slice(0, fingerprintLength)).join('')}`;
}

/** The members that differ between two states; empty if all fingerprints are equal. */
export function changedMembers(known: string, now: string): string[] {
  const fingerprint = (digest: string, index: number) => {
    const start = digest.indexOf('.') + 1 + index * fingerprintLength;
    return digest.slice(start, start + fingerprintLength);
  };
  return digestedMembers.filter((_, index) => fingerprint(known, index) !== fingerprint(now, index));
}

export const isIntentDigest = (text: string): boolean => pattern.test(text);
