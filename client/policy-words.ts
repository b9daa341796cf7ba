import type { Constraint, Duty, Policy, Rule } from './types.ts';

/** The term that a URI ends in. */
const termOf = (uri = ''): string => uri.split(/[/#:?]/).at(-1) ?? '';

function nameTarget(target: string | undefined, baseUrl: string): string {
  const intents = `${baseUrl}/api/intents`;
  if (target === undefined) return '';
  if (target === intents) return 'every intent';
  if (target.startsWith(`${intents}?namespace=`)) return `every intent of the namespace ${target.slice(`${intents}?namespace=`.length)}`;
  if (target.startsWith(`${intents}/`)) return `the intent ${target.slice(intents.length + 1)}`;
  return target;
}

const comparisons: Record<string, string> = {
  eq: 'is',
  neq: 'is not',
  gt: 'is more than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
};

function nameConstraint({ leftOperand, operator, rightOperand, unit }: Constraint): string {
  if (termOf(leftOperand) === 'rateLimit' && ['lte', 'gt'].includes(operator)) {
    return `${operator === 'lte' ? 'at most' : 'more than'} ${rightOperand} ${rightOperand === 1 ? 'time' : 'times'} ${/^(hour|[aeiou])/.test(termOf(unit)) ? 'an' : 'a'} ${termOf(unit)}`;
  }
  const value = typeof rightOperand === 'string' ? rightOperand : JSON.stringify(rightOperand);
  return `where ${termOf(leftOperand)} ${comparisons[operator] ?? operator} ${value}${unit === undefined ? '' : ` ${termOf(unit)}`}`;
}

function nameDuty({ action, amount, unit, target, timeInterval }: Duty): string {
  const value = typeof amount === 'object' ? JSON.stringify(amount) : amount;
  const what = [value, termOf(unit), target === undefined ? '' : `to ${target}`].filter((part) => part !== undefined && part !== '');
  const each = timeInterval === undefined ? 'each time' : `every ${timeInterval}`;
  return `on the condition that you ${[termOf(action), ...what].join(' ')} ${each}`;
}

const verbs: Record<string, string> = { exceedRateLimit: 'exceed the rate limit for' };

function sentence(modal: string, { action, target, assignee, constraint = [], duty = [] }: Rule, baseUrl: string): string {
  const verb = verbs[termOf(action)] ?? termOf(action);
  const subject = assignee === undefined ? 'You' : `You (if you are ${assignee})`;
  const head = [subject, modal, verb, nameTarget(target, baseUrl)].filter((part) => part !== '').join(' ');
  return `${[head, ...constraint.map(nameConstraint), ...duty.map(nameDuty)].join(', ')}.`;
}

/**
 * A policy in plain sentences, one for each thing that it grants, forbids or asks. Nothing is left out: what is not known here is put as it stands.
 * @param baseUrl - the address by which the policy speaks of the service's intents
 */
export const describePolicy = ({ permission = [], prohibition = [], obligation = [] }: Policy, baseUrl: string): string[] => [
  ...permission.map((rule) => sentence('may', rule, baseUrl)),
  ...prohibition.map((rule) => sentence('must not', rule, baseUrl)),
  ...obligation.map((rule) => sentence('must', rule, baseUrl)),
];

/** What has changed from one policy to another, in plain sentences. */
export function describeChanges(before: Policy, after: Policy, baseUrl: string): string[] {
  const [earlier, now] = [describePolicy(before, baseUrl), describePolicy(after, baseUrl)];
  return [
    ...earlier.filter((text) => !now.includes(text)).map((text) => `No longer: ${text}`),
    ...now.filter((text) => !earlier.includes(text)).map((text) => `New: ${text}`),
  ];
}

/** Equal policies have equal texts, whatever the order of their members. */
export const canonicalText = (value: unknown): string =>
  JSON.stringify(value, (_, member) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
