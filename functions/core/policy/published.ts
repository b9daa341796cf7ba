import { type Policy, placeholder } from '../../../schemas/policy.ts';
import type { Rule } from './reading.ts';

/** Version of the compiled form; functions refuse any other. Raise it with every change to what a {@link Rule} holds or means. */
export const compilerVersion = 1;

/** A policy as it is published: compiled once, so that functions that judge contain no parser. `{base_url}` stands for the gate's address. */
export interface PublishedPolicy {
  compiler: number;
  policy: Policy;
  /** the policy in plain words */
  sentences: string[];
  /** for all agents */
  rules: Rule[];
}

/** The text of a published policy. A period may be infinite, which JSON states as a number that is too large. */
export const writePublished = (published: PublishedPolicy): string =>
  JSON.stringify(published, (_, value) => (value === Number.POSITIVE_INFINITY ? JSON.rawJSON('1e999') : value));

/** A published policy for callers at one address. */
export const readPublished = (text: string, baseUrl: string): PublishedPolicy =>
  JSON.parse(text.replaceAll(placeholder, () => JSON.stringify(baseUrl).slice(1, -1)));

/** A policy in which `{base_url}` stands for an address of the gate. Parties stay: a domain would become an id, which any agent may choose. */
export const unfilled = (policy: Policy, baseUrl: string): Policy =>
  JSON.parse(JSON.stringify(policy), (name, member) =>
    typeof member === 'string' && name !== 'assignee' ? withPlaceholder(member, baseUrl) : member,
  );

/** Replaces an address, but not where another one begins with it. */
const withPlaceholder = (text: string, address: string): string =>
  text.split(address).reduce((before, after) => before + (/^[\w.:%@-]/.test(after) ? address : placeholder) + after);
