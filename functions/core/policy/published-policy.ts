import { existsSync, readFileSync } from 'node:fs';
import QuickLRU from 'quick-lru';
import { canonicalDigest } from '../../../schemas/canonical.ts';
import type { Policy } from '../../../schemas/policy.ts';
import { fillTemplate, type PolicyTemplate, parsePolicyTemplate } from './template.ts';

/** The policy for one address of the gate, as people and agents read it. */
export interface PublishedPolicy {
  policy: Policy;
  /** exactly what `GET /api/policy` sends */
  text: string;
  /** SHA-256 of the canonical form, base64url */
  digest: string;
  /** a PAT's `pol`: `<uid>#sha-256=<digest>`, so that a PAT is bound to exactly the policy that was signed */
  reference: string;
}

/** Finds the policy in force for the address that the gate is called by. */
export type FindPublishedPolicy = (baseUrl: string) => PublishedPolicy;

/** A deployment has one or two addresses. */
const maxAddressCount = 16;

/** Makes something once for each address. */
export function perAddress<T>(make: (baseUrl: string) => T): (baseUrl: string) => T {
  const made = new QuickLRU<string, T>({ maxSize: maxAddressCount });
  return (baseUrl) => {
    const one = made.get(baseUrl) ?? make(baseUrl);
    made.set(baseUrl, one);
    return one;
  };
}

export function publish(template: PolicyTemplate, baseUrl: string): PublishedPolicy {
  const policy = fillTemplate(template, baseUrl);
  const digest = canonicalDigest(policy);
  return { policy, text: JSON.stringify(policy), digest, reference: `${policy.uid}#sha-256=${digest}` };
}

/** The policy for functions that show it and judge nothing by it. */
export const openPublishedPolicy = (template: PolicyTemplate): FindPublishedPolicy => perAddress((baseUrl) => publish(template, baseUrl));

/** Reads the policy file beside the bundle or, without a bundle, the one at the top of the repository. */
export function loadPolicyTemplate(): PolicyTemplate {
  const beside = new URL('policy.json', import.meta.url);
  return parsePolicyTemplate(readFileSync(existsSync(beside) ? beside : new URL('../../../policy.json', import.meta.url), 'utf8'));
}
