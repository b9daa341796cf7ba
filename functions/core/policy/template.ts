import type { Issue } from '../../../schemas/errors.ts';
import { type Policy, policy } from '../../../schemas/policy.ts';
import { describeHidden } from '../../../schemas/text.ts';
import { isObject, issuesOf, pointer } from '../json.ts';
import { placeholder } from './placeholder.ts';
import { PolicyError } from './reading.ts';

/** A policy whose URIs still hold the placeholder. */
export type PolicyTemplate = Policy;

/**
 * Reads the text of a policy file.
 * @throws PolicyError if it is not JSON or not a policy (specification section 2.3)
 */
export function parsePolicyTemplate(text: string): PolicyTemplate {
  const template = parseText(text);
  const result = policy.safeParse(fillIn(template, 'https://gate.example'), { reportInput: true });
  const issues = result.success ? findHidden(template) : issuesOf(result.error);
  if (issues.length > 0) throw new PolicyError(issues);
  // not zod's copy: its members stand in the order of the schema, and agents sign what they were served
  return template as PolicyTemplate;
}

/** Texts that hold something that nobody sees: people sign what they read. */
function findHidden(value: unknown, place: readonly PropertyKey[] = []): Issue[] {
  if (typeof value === 'string') {
    const problem = describeHidden(value, false);
    return problem === undefined ? [] : [{ path: pointer(place), problem }];
  }
  if (Array.isArray(value)) return value.flatMap((element, at) => findHidden(element, [...place, at]));
  return isObject(value) ? Object.entries(value).flatMap(([name, member]) => findHidden(member, [...place, name])) : [];
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new PolicyError([{ path: '', problem: `must be JSON: ${(error as Error).message}` }]);
  }
}

/** The policy as it reads for callers of the gate at `baseUrl` (without a trailing slash). */
export const fillTemplate = (template: PolicyTemplate, baseUrl: string): Policy => fillIn(template, baseUrl) as Policy;

function fillIn(value: unknown, baseUrl: string): unknown {
  if (typeof value === 'string') return value.replaceAll(placeholder, () => baseUrl);
  if (Array.isArray(value)) return value.map((element) => fillIn(element, baseUrl));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, fillIn(member, baseUrl)]));
}
