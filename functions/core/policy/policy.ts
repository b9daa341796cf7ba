import { type Billing, billing as billingSchema } from '../../../schemas/pat.ts';
import { readEnvironment } from '../environment.ts';
import { type CompiledPolicy, compilePolicy } from './compile.ts';
import { loadPolicyTemplate, type PublishedPolicy, perAddress, publish } from './published-policy.ts';
import type { PolicyTemplate } from './template.ts';
import { loadTrialTemplate, readTrial, type TrialPolicy, withoutHarm } from './trial.ts';

export interface CurrentPolicy extends PublishedPolicy {
  compiled: CompiledPolicy;
  /** the one that is tried beside it */
  trial?: TrialPolicy | undefined;
}

export type FindPolicy = (baseUrl: string) => CurrentPolicy;

/**
 * @param tried - a policy that is tried beside it
 * @throws PolicyError at the first use if the policy cannot be put into effect; synthesis refuses such a policy
 */
export const openPolicy = (template: PolicyTemplate, billing?: Billing, tried?: PolicyTemplate): FindPolicy =>
  perAddress((baseUrl) => {
    const published = publish(template, baseUrl);
    const trial = tried && withoutHarm(() => readTrial(tried, baseUrl, billing));
    return { ...published, compiled: compilePolicy(published.policy, baseUrl, billing), trial };
  });

export const parseBilling = (text?: string): Billing | undefined =>
  text === undefined ? undefined : billingSchema.parse(JSON.parse(text));

/** For functions that judge calls: with the policy that is tried beside it. */
export const judgingPolicyFromEnvironment = (): FindPolicy =>
  openPolicy(loadPolicyTemplate(), parseBilling(readEnvironment([], ['billing']).billing), loadTrialTemplate());
