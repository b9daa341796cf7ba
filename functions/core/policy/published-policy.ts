import { existsSync, readFileSync } from 'node:fs';
import QuickLRU from 'quick-lru';
import { canonicalDigest } from '../../../schemas/canonical.ts';
import type { Policy } from '../../../schemas/policy.ts';
import { fillTemplate, type PolicyTemplate, parsePolicyTemplate } from './template.ts';

export interface PublishedPolicy {
  policy: Policy;
  /** exactly the response of `GET /api/policy` */
  text: string;
  /** SHA-256 of the canonical form, base64url */
  digest: string;
  /** a PAT's `pol`: `<uid>#sha-256=<digest>`, which binds the PAT to exactly the signed policy */
  reference: string;
}

export type FindPublishedPolicy = (baseUrl: string) => PublishedPolicy;

/** Maximum number of cached policies: a deployment has one or two addresses. */
const maxAddressCount = 16;

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

/** For functions that show the policy but do not judge calls. */
export const openPublishedPolicy = (template: PolicyTemplate): FindPublishedPolicy => perAddress((baseUrl) => publish(template, baseUrl));

/** Reads the policy file beside the bundle or, without a bundle, at the root of the repository. */
export function loadPolicyTemplate(): PolicyTemplate {
  const beside = new URL('policy.json', import.meta.url);
  return parsePolicyTemplate(readFileSync(existsSync(beside) ? beside : new URL('../../../policy.json', import.meta.url), 'utf8'));
}
