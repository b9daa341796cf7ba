import { type Billing, billing as billingSchema } from '../../../schemas/pat.ts';
import { type CompiledPolicy, compilePolicy } from './compile.ts';
import { type PublishedPolicy, perAddress, publish } from './published-policy.ts';
import type { PolicyTemplate } from './template.ts';

/** The policy in force, for one address of the gate. */
export interface CurrentPolicy extends PublishedPolicy {
  compiled: CompiledPolicy;
}

/** Finds the policy in force for the address that the gate is called by. */
export type FindPolicy = (baseUrl: string) => CurrentPolicy;

/** @throws PolicyError at the first use if the policy cannot be put into effect; synthesis refuses such a policy */
export const openPolicy = (template: PolicyTemplate, billing?: Billing): FindPolicy =>
  perAddress((baseUrl) => {
    const published = publish(template, baseUrl);
    return { ...published, compiled: compilePolicy(published.policy, baseUrl, billing) };
  });

/** The billing of `pay` duties, from the setting's JSON text. */
export const parseBilling = (text?: string): Billing | undefined =>
  text === undefined ? undefined : billingSchema.parse(JSON.parse(text));
