import { existsSync, readFileSync } from 'node:fs';
import QuickLRU from 'quick-lru';
import { type Billing, billing as billingSchema } from '../../../schemas/pat.ts';
import type { Policy } from '../../../schemas/policy.ts';
import { canonicalDigest } from './canonical.ts';
import { compilePolicy, type Grants } from './compile.ts';
import { fillTemplate, type PolicyTemplate, parsePolicyTemplate } from './template.ts';

/** The policy in force, for one address of the gate. */
export interface CurrentPolicy {
  policy: Policy;
  /** exactly what `GET /api/policy` sends */
  text: string;
  /** SHA-256 of the canonical form, base64url */
  digest: string;
  /** a PAT's `pol`: `<uid>#sha-256=<digest>` */
  reference: string;
  grants: Grants;
}

/** Finds the policy in force for the address that the gate is called by. */
export type FindPolicy = (baseUrl: string) => CurrentPolicy;

/** A deployment has one or two addresses. */
const maxAddressCount = 16;

/** A PAT's `pol` for a policy: its uid and its content, so that a PAT binds to exactly what was signed. */
const referenceTo = (policy: Policy): string => `${policy.uid}#sha-256=${canonicalDigest(policy)}`;

/** @throws PolicyError at the first use if the policy cannot be put into effect; synthesis refuses such a policy */
export function openPolicy(template: PolicyTemplate, billing?: Billing): FindPolicy {
  const found = new QuickLRU<string, CurrentPolicy>({ maxSize: maxAddressCount });
  return (baseUrl) => {
    const known = found.get(baseUrl);
    if (known) return known;
    const policy = fillTemplate(template, baseUrl);
    const current = {
      policy,
      text: JSON.stringify(policy),
      digest: canonicalDigest(policy),
      reference: referenceTo(policy),
      grants: compilePolicy(policy, baseUrl, billing),
    };
    found.set(baseUrl, current);
    return current;
  };
}

/** Reads the policy file beside the bundle or, without a bundle, the one at the top of the repository. */
export function loadPolicyTemplate(): PolicyTemplate {
  const beside = new URL('policy.json', import.meta.url);
  return parsePolicyTemplate(readFileSync(existsSync(beside) ? beside : new URL('../../../policy.json', import.meta.url), 'utf8'));
}

/** The billing of `pay` duties, from the setting's JSON text. */
export const parseBilling = (text?: string): Billing | undefined =>
  text === undefined ? undefined : billingSchema.parse(JSON.parse(text));
