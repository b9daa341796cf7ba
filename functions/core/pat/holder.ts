import { createHash } from 'node:crypto';
import { signedInPrefix } from '../../../schemas/agent.ts';
import type { PatClaims } from '../../../schemas/pat.ts';

/** Whose a PAT is. For an agent with a key, both are the thumbprint of that key. */
export interface Holder {
  /** what a block holds for besides the agent_id, and what counts and budgets belong to: the key; or the person, whichever client they use */
  thumbprint: string;
  /** what rates and idempotency keys belong to: the key; or the person with this client */
  account: string;
}

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');

const personPrefix = 'person.';

/** What stands for a person where agents have the thumbprint of a key. A thumbprint has no dot, so neither can be taken for the other. */
export const personOf = (subject: string): string => `${personPrefix}${digest(subject)}`;

/**
 * What an agent's rates belong to: its key; or the person with this client, whom the agent_id names.
 * @param thumbprint - of its key, or what {@link personOf} puts in its place
 */
export const accountOf = (agentId: string, thumbprint: string): string =>
  thumbprint.startsWith(personPrefix) ? `account.${digest(agentId)}` : thumbprint;

export const toHolder = (agentId: string, thumbprint: string): Holder => ({ thumbprint, account: accountOf(agentId, thumbprint) });

export const holderOf = (claims: PatClaims): Holder => toHolder(claims.sub, 'cnf' in claims ? claims.cnf.jkt : claims.person);

/** The host of a client that is named by an address; another client's own name. */
const clientHost = (clientId: string): string => URL.parse(clientId)?.host || clientId;

/**
 * The agent_id of a person with a client: tells admins and services who it is, and is given to nobody who brings a key. Two clients never share
 * one, whatever they are called.
 */
export const signedInAgentId = (subject: string, clientId: string): string =>
  `${signedInPrefix}${subject}@${clientHost(clientId).slice(0, 150)}:${digest(clientId).slice(0, 16)}`;
