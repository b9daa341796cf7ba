import { hash } from 'node:crypto';
import { signedInPrefix } from '../../../schemas/agent.ts';
import type { PatClaims } from '../../../schemas/pat.ts';
import type { JudgedAgent } from '../policy/conditions.ts';

/** The holder of a PAT. For an agent with a key, both members are the thumbprint of that key. */
export interface Holder {
  /** the key, or the person with any client: blocks, counts and budgets apply to it */
  principal: string;
  /** the key, or the person with this client: rates and idempotency keys apply to it */
  account: string;
}

const digest = (text: string): string => hash('sha256', text, 'base64url');

const personPrefix = 'person.';

/** Whether a principal is a person. */
export const isPerson = (principal: string): boolean => principal.startsWith(personPrefix);

/** Replaces the thumbprint for people. Thumbprints of keys have no dot, so the two cannot collide. */
export const personOf = (subject: string): string => `${personPrefix}${digest(subject)}`;

/** @param thumbprint - of a key, or the result of {@link personOf} */
export const accountOf = (agentId: string, thumbprint: string): string =>
  thumbprint.startsWith(personPrefix) ? `account.${digest(agentId)}` : thumbprint;

export const toHolder = (agentId: string, thumbprint: string): Holder => ({
  principal: thumbprint,
  account: accountOf(agentId, thumbprint),
});

/** What conditions of the policy can test about the holder of a PAT. */
export const judgedAgent = (claims: PatClaims): JudgedAgent => ({
  account: holderOf(claims).account,
  agentId: claims.sub,
  agentDomain: 'cnf' in claims ? claims.agent_domain : undefined,
});

export const holderOf = (claims: PatClaims): Holder => toHolder(claims.sub, 'cnf' in claims ? claims.cnf.jkt : claims.person);

/** The host of a client id that is a URL, otherwise the client id. */
const clientHost = (clientId: string): string => URL.parse(clientId)?.host || clientId;

/** The agent_id of a person with a client: unavailable to agents with keys, and unique to the client. */
export const signedInAgentId = (subject: string, clientId: string): string =>
  `${signedInPrefix}${subject}@${clientHost(clientId).slice(0, 150)}:${digest(clientId).slice(0, 16)}`;

/** The person in an agent_id of {@link signedInAgentId}. */
export const subjectOf = (agentId: string): string => agentId.slice(signedInPrefix.length, agentId.indexOf('@'));
