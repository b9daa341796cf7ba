import QuickLRU from 'quick-lru';
import { canonicalDigest } from '../../../schemas/canonical.ts';
import type { Billing } from '../../../schemas/pat.ts';
import { unavailable } from '../runtime/api-error.ts';
import { log } from '../runtime/log.ts';
import { type CompiledPolicy, compileRules } from './compiled-policy.ts';
import type { JudgedAgent } from './conditions.ts';
import { compilerVersion, type PublishedPolicy, readPublished } from './published.ts';
import type { Rule } from './reading.ts';
import { assigneeOf, dependOnAgent, rulesKnowing, rulesOf } from './rule-index.ts';

/** What a published policy says to callers at one address of the gate, whichever compiler made it. */
export interface PolicyText extends Pick<PublishedPolicy, 'policy' | 'sentences'> {
  /** SHA-256 of the canonical form, base64url */
  digest: string;
  /** a PAT's `pol`: `<uid>#sha-256=<digest>`, which binds the PAT to exactly the signed policy */
  reference: string;
  /** what says that it is in force; absent for the policy of the deployment, until one is published */
  pointer?: PolicyPointer;
}

/** A policy, for callers at one address of the gate. */
export interface CurrentPolicy extends PublishedPolicy, PolicyText {
  /** exactly the response of `GET /api/policy` */
  text: string;
  /** to whom it applies; from {@link FindPolicy}, an unknown agent */
  agent: JudgedAgent;
  /** as it applies to `agent` */
  compiled: CompiledPolicy;
  compiledFor(agent: JudgedAgent): CompiledPolicy;
  /** what the agent may see: as `compiledFor`, with the conditions on the agent decided */
  decidedFor(agent: JudgedAgent): CompiledPolicy;
  /** whether it says more or less to some agents than to others */
  dependsOnAgent: boolean;
}

/** Which policy is in force: the version that was published last, if any. Features may add members. */
export interface PolicyPointer extends Record<string, unknown> {
  /** digest of its text, in which `{base_url}` stands for the gate's address */
  version?: string;
  /** number of the log entry that wrote this pointer */
  rev: number;
}

/** The policy as it applies to an agent. */
export const policyFor = (policy: CurrentPolicy, agent: JudgedAgent): CurrentPolicy => ({
  ...policy,
  agent,
  compiled: policy.compiledFor(agent),
});

/**
 * Finds the policy in force for callers at an address.
 * @param pointer - if it has been read; null if there is none. Otherwise it is read
 * @throws ApiError SERVICE_UNAVAILABLE if the policy cannot be read: an older one never takes its place
 */
export type FindPolicy<Policy = CurrentPolicy> = (baseUrl: string, pointer?: PolicyPointer | null) => Policy | Promise<Policy>;

/** Opens the text of a published policy (see `published.ts`) for callers at any address. */
export type OpenPolicy<Policy> = (text: string, billing?: Billing) => (baseUrl: string) => Policy;

/** Maximum number of cached policies: a deployment has one or two addresses, and a policy is seldom replaced. */
export const maxCached = 16;

/** Opens a published policy. */
export const openPolicy: OpenPolicy<CurrentPolicy> = (text, billing) =>
  forEachAddress((baseUrl) => {
    const published = readPublished(text, baseUrl);
    return { ...textOf(published), ...compile(published, billing) };
  });

/** Opens a published policy as far as every version of the gate can read it. */
export const openPolicyText: OpenPolicy<PolicyText> = (text) => forEachAddress((baseUrl) => textOf(readPublished(text, baseUrl)));

function forEachAddress<Policy>(open: (baseUrl: string) => Policy): (baseUrl: string) => Policy {
  const opened = new QuickLRU<string, Policy>({ maxSize: maxCached });
  return (baseUrl) => {
    const one = opened.get(baseUrl) ?? open(baseUrl);
    opened.set(baseUrl, one);
    return one;
  };
}

function textOf({ policy, sentences }: PublishedPolicy): PolicyText {
  const digest = canonicalDigest(policy);
  return { policy, sentences, digest, reference: `${policy.uid}#sha-256=${digest}` };
}

function compile(published: PublishedPolicy, billing?: Billing): Omit<CurrentPolicy, keyof PolicyText> & Pick<CurrentPolicy, 'policy'> {
  const { compiler, policy, rules } = published;
  if (compiler !== compilerVersion) throw unreadable(`it was compiled by version ${compiler} of the compiler, not ${compilerVersion}`);
  const isAssigned = rules.some(assigneeOf);
  const whole = compileRules(rules, billing);
  const compiled = new WeakMap<readonly Rule[], CompiledPolicy>([[rules, whole]]);
  const compiledOf = (own: readonly Rule[]): CompiledPolicy => {
    const known = compiled.get(own) ?? compileRules(own, billing);
    compiled.set(own, known);
    return known;
  };
  const compiledFor = (agent: JudgedAgent): CompiledPolicy => (isAssigned ? compiledOf(rulesOf(rules, agent)) : whole);
  const decidedFor = (agent: JudgedAgent): CompiledPolicy => compiledOf(rulesKnowing(compiledFor(agent).rules, agent));
  const agent: JudgedAgent = { account: '' };
  const text = JSON.stringify(policy);
  return { ...published, text, agent, compiled: compiledFor(agent), compiledFor, decidedFor, dependsOnAgent: dependOnAgent(rules) };
}

/** Notes why the policy cannot be read, which callers need not know. */
export function unreadable(why: string) {
  log.error('policy unreadable', { why });
  return unavailable('The usage policy cannot be read. Nothing was sent. Ask the operators of this gate to publish a policy.');
}
