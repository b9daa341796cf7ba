import type { RateLimit } from '../../../schemas/pat.ts';
import type { Policy } from '../../../schemas/policy.ts';
import { canonicalText } from './canonical.ts';
import { interpretPolicy, type Payment } from './reading.ts';
import { everyIntent } from './scope.ts';

const unitNames: Record<number, string> = { 1: 'second', 60: 'minute', 3600: 'hour', 86400: 'day', 604800: 'week' };

function nameEntry(entry: string): string {
  const [namespace, slug, version] = entry.split(':');
  if (entry === everyIntent) return 'every intent';
  return slug === '*' ? `every intent of the namespace ${namespace}` : `the intent ${namespace}:${slug}:${version}`;
}

const nameLimit = ({ rate, period }: RateLimit): string => `at most ${rate} ${rate === 1 ? 'time' : 'times'} a ${unitNames[period]}`;

const namePayment = ({ amount, currency, every }: Payment): string =>
  `for ${amount} ${currency} ${every === undefined ? 'each time' : `every ${every}`}`;

/**
 * A policy in plain sentences, one for each thing that it grants or asks.
 * @param policy - with `{base_url}` filled in
 * @throws PolicyError if it cannot be put into effect
 */
export function describePolicy(policy: Policy, baseUrl: string): string[] {
  const { permissions, prohibitions, isExceedingProhibited, limits, isSigningObliged } = interpretPolicy(policy, baseUrl);
  return [
    `This is the policy ${policy.uid} (${policy.type}${policy.profile === undefined ? '' : `, profile ${policy.profile}`}).`,
    ...permissions.map((permission) => {
      const terms = [...permission.limits.map(nameLimit), ...permission.payments.map(namePayment)];
      return `You may execute ${[nameEntry(permission.entry), ...terms].join(', ')}.`;
    }),
    ...prohibitions.map((entry) => `You must not execute ${nameEntry(entry)}, whatever else is permitted.`),
    ...limits.map((limit) => `You may execute intents ${nameLimit(limit)}.`),
    ...(isExceedingProhibited ? ['You must not exceed the rate limit.'] : []),
    ...(isSigningObliged ? ['You must sign the policy with the key that you present as agent_public_key.'] : []),
  ];
}

/** What has changed from one policy to another, in plain sentences; empty if they say the same. */
export function describeChanges(before: Policy, after: Policy, baseUrl: string): string[] {
  const [earlier, now] = [describePolicy(before, baseUrl), describePolicy(after, baseUrl)];
  const changes = [
    ...earlier.filter((sentence) => !now.includes(sentence)).map((sentence) => `No longer: ${sentence}`),
    ...now.filter((sentence) => !earlier.includes(sentence)).map((sentence) => `New: ${sentence}`),
  ];
  if (changes.length > 0 || canonicalText(before) === canonicalText(after)) return changes;
  return ['The wording has changed; what it grants and asks has not.'];
}
