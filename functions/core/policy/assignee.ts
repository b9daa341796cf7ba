import { foldName } from '../../../schemas/text.ts';
import type { Condition, JudgedAgent } from './conditions.ts';

/** The host of a verified agent's directory, with its port unless that is 443. */
export const isDomain = (text: string): boolean => /^(?:[a-z0-9-]+\.)+[a-z0-9-]+(?::\d{1,5})?$/.test(text);

export const isThumbprint = (text: string): boolean => /^[\w-]{43}$/.test(text);

type Assigned = Pick<Condition, 'subject' | 'values'>;

/**
 * The agents that an ODRL party identifies: the one with a key (RFC 7638 thumbprint), those that are verified for a domain (its name or https origin),
 * or else the one with that id. An agent may choose an id that looks like a domain, so such a text is never read as an id.
 */
export function readAssignee(party: string): Assigned {
  if (isThumbprint(party)) return { subject: { of: 'agentKey' }, values: [party] };
  const domain = party.replace(/^https:\/\/([^/?#@]+)\/?$/i, '$1').toLowerCase();
  return isDomain(domain)
    ? { subject: { of: 'agentDomain' }, values: [domain] }
    : { subject: { of: 'agentId' }, values: [foldName(party)] };
}

/** An agent about which only these parties are known. */
export function agentOf(parties: readonly string[]): JudgedAgent {
  const facts = parties
    .map(readAssignee)
    .map(({ subject, values: [value] }) => [subject.of === 'agentKey' ? 'account' : subject.of, value]);
  return { account: '', ...Object.fromEntries(facts) };
}
