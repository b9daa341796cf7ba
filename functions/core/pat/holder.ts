import { createHash } from 'node:crypto';
import { signedInPrefix } from '../../../schemas/agent.ts';
import type { PatClaims } from '../../../schemas/pat.ts';

/** Whose a PAT is. For an agent with a key, both are the thumbprint of that key. */
export interface Holder {
  /** what a block holds for besides the agent_id: the key; or the person, whichever client they use */
  thumbprint: string;
  /** what quota and idempotency keys hang on: the key; or the person with this client */
  account: string;
}

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');

/** What stands for a person where agents have the thumbprint of a key. A thumbprint has no dot, so neither can be taken for the other. */
export const personOf = (subject: string): string => `person.${digest(subject)}`;

/** @param person - see {@link personOf} */
export const accountOf = (person: string, clientId: string): string => `account.${digest(JSON.stringify([person, clientId]))}`;

export const holderOf = (claims: PatClaims): Holder =>
  'cnf' in claims
    ? { thumbprint: claims.cnf.jkt, account: claims.cnf.jkt }
    : { thumbprint: claims.person, account: accountOf(claims.person, claims.client_id) };

/** The host of a client that is named by an address; another client's own name. */
export const clientHost = (clientId: string): string => URL.parse(clientId)?.host || clientId;

/**
 * The agent_id of a person with a client: tells admins and services who it is, and is given to nobody who brings a key. Two clients never share
 * one, whatever they are called.
 */
export const signedInAgentId = (subject: string, clientId: string): string =>
  `${signedInPrefix}${subject}@${clientHost(clientId).slice(0, 150)}:${digest(clientId).slice(0, 16)}`;
