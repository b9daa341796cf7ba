import { existsSync, readFileSync } from 'node:fs';
import QuickLRU from 'quick-lru';
import { canonicalDigest } from '../../../schemas/canonical.ts';
import { type Billing, billing as billingSchema } from '../../../schemas/pat.ts';
import type { Policy } from '../../../schemas/policy.ts';
import { readEnvironment } from '../runtime/environment.ts';
import { type CompiledPolicy, compilePolicy, compileRules } from './compile.ts';
import type { JudgedAgent } from './conditions.ts';
import type { Rule } from './reading.ts';
import { assigneeOf, rulesOf } from './rule-index.ts';
import { fillTemplate, type PolicyTemplate, parsePolicyTemplate } from './template.ts';

export interface CurrentPolicy extends PublishedPolicy {
  /** as it applies to one agent; from {@link FindPolicy}, to an unknown agent */
  compiled: CompiledPolicy;
  /** the rules for all agents */
  rules: readonly Rule[];
  compiledFor(agent: JudgedAgent): CompiledPolicy;
  /** whether it has rules that are assigned to certain agents */
  isAssigned: boolean;
}

/** The policy as it applies to an agent. */
export const policyFor = (policy: CurrentPolicy, agent: JudgedAgent): CurrentPolicy => ({ ...policy, compiled: policy.compiledFor(agent) });

export type FindPolicy = (baseUrl: string) => CurrentPolicy;

/**
 * @param template - default: the policy of this deployment
 * @throws PolicyError at the first use if the policy cannot be put into effect; synthesis refuses such a policy
 */
export const openPolicy = (template = loadPolicyTemplate(), billing?: Billing): FindPolicy =>
  perAddress((baseUrl) => {
    const published = publish(template, baseUrl);
    const whole = compilePolicy(published.policy, baseUrl, billing);
    const isAssigned = whole.rules.some(assigneeOf);
    const compiled = new WeakMap<readonly Rule[], CompiledPolicy>();
    const compiledFor = (agent: JudgedAgent): CompiledPolicy => {
      if (!isAssigned) return whole;
      const rules = rulesOf(whole.rules, agent);
      const own = compiled.get(rules) ?? compileRules(rules, billing);
      compiled.set(rules, own);
      return own;
    };
    return { ...published, compiled: compiledFor({ account: '' }), rules: whole.rules, compiledFor, isAssigned };
  });

/** How `pay` duties are billed, if the deployment bills. */
export function billingFromEnvironment(): Billing | undefined {
  const { billing } = readEnvironment([], ['billing']);
  return billing === undefined ? undefined : billingSchema.parse(JSON.parse(billing));
}

/** For functions that issue PATs or judge calls. */
export const policyFromEnvironment = (): FindPolicy => openPolicy(loadPolicyTemplate(), billingFromEnvironment());

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
