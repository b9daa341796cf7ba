import type { Policy } from '../../../schemas/policy.ts';
import { placeholder } from './placeholder.ts';
import type { PublishedPolicy } from './published.ts';

/** The text of a published policy. A period may be infinite, which JSON states as a number that is too large. */
export const writePublished = (published: PublishedPolicy): string =>
  JSON.stringify(published, (_, value) => (value === Number.POSITIVE_INFINITY ? JSON.rawJSON('1e999') : value));

/** A policy in which `{base_url}` stands for an address of the gate. Parties stay: a domain would become an id, which any agent may choose. */
export const unfilled = (policy: Policy, baseUrl: string): Policy =>
  JSON.parse(JSON.stringify(policy), (name, member) =>
    typeof member === 'string' && name !== 'assignee' ? withPlaceholder(member, baseUrl) : member,
  );

/** Replaces an address, but not where another one begins with it. */
const withPlaceholder = (text: string, address: string): string =>
  text.split(address).reduce((before, after) => before + (/^[\w.:%@-]/.test(after) ? address : placeholder) + after);
