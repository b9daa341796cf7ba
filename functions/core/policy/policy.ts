import { type Billing, billing as billingSchema } from '../../../schemas/pat.ts';
import { type CompiledPolicy, compilePolicy } from './compile.ts';
import { type PublishedPolicy, perAddress, publish } from './published-policy.ts';
import type { PolicyTemplate } from './template.ts';

export interface CurrentPolicy extends PublishedPolicy {
  compiled: CompiledPolicy;
}

export type FindPolicy = (baseUrl: string) => CurrentPolicy;

/** @throws PolicyError at the first use if the policy cannot be put into effect; synthesis refuses such a policy */
export const openPolicy = (template: PolicyTemplate, billing?: Billing): FindPolicy =>
  perAddress((baseUrl) => {
    const published = publish(template, baseUrl);
    return { ...published, compiled: compilePolicy(published.policy, baseUrl, billing) };
  });

export const parseBilling = (text?: string): Billing | undefined =>
  text === undefined ? undefined : billingSchema.parse(JSON.parse(text));
