import * as z from 'zod';
import { type Intent, type IntentDetails, intentDetails } from '../intent.ts';
import type { Service } from '../service.ts';

const describedIntent = intentDetails.extend({ deprecated: z.literal(true).optional() });

export type DescribedIntent = z.infer<typeof describedIntent>;

/** The self-description of a service (specification section 2.6), for a protocol name. */
export const serviceDescription = (protocol: string) =>
  z
    .strictObject({
      'service-info': z.strictObject({
        name: z.string(),
        description: z.string(),
        service_url: z.url(),
        service_logo_url: z.url().optional(),
        service_terms_of_service_url: z.url().optional(),
        service_privacy_policy_url: z.url().optional(),
      }),
      intents: z.array(describedIntent),
      [`${protocol}-public-key`]: z.string().describe('PEM of the key that signs the PATs with which the intents are executed'),
      [`${protocol}-policy-file`]: z.url().describe('the policy that agents sign'),
      [`${protocol}-api-discovery`]: z.url().optional().describe('where intents are searched'),
      [`${protocol}-api-execute`]: z.url().optional().describe('where intents are executed'),
    })
    .meta({ id: 'ServiceDescription', description: 'A service, its intents, and the data needed to execute them.' });

/** The self-description of this gate. */
export const ownDescription = (protocol: string) =>
  serviceDescription(protocol)
    .extend({
      [`${protocol}-pat-issue`]: z.url().describe('where PATs are issued'),
      'service-desc': z.url().describe('the OpenAPI document, which describes every endpoint (RFC 8631)'),
      mcp: z.url().describe('the Model Context Protocol server of this gate'),
      'mcp-sign-in': z.url().optional().describe('the same for hosts that sign people in'),
    })
    .meta({ id: 'OwnDescription', description: 'This gate, its intents, and the addresses that agents need.' });

export interface DescriptionContext {
  protocol: string;
  baseUrl: string;
  /** PEM */
  publicKey: string;
}

type Described = Pick<
  Service,
  'service_name' | 'description' | 'service_url' | 'service_logo_url' | 'service_terms_of_service_url' | 'service_privacy_policy_url'
>;

export const thisGate = {
  service_name: 'Intent Gate',
  description: 'Lets agents find, get permission for, and call third-party API operations (intents).',
};

/** Key and policy are the gate's, because agents execute through it; a service's `policy_url` is for people. */
export function toServiceDescription(service: Described, intents: DescribedIntent[], { protocol, baseUrl, publicKey }: DescriptionContext) {
  const { service_name, description, service_url } = service;
  const addresses = ['service_logo_url', 'service_terms_of_service_url', 'service_privacy_policy_url'] as const;
  return {
    'service-info': {
      name: service_name,
      description,
      service_url,
      ...Object.fromEntries(addresses.flatMap((name) => (service[name] === undefined ? [] : [[name, service[name]]]))),
    },
    intents,
    [`${protocol}-public-key`]: publicKey,
    [`${protocol}-policy-file`]: `${baseUrl}/api/policy`,
    [`${protocol}-api-discovery`]: `${baseUrl}/api/intents/search`,
    [`${protocol}-api-execute`]: `${baseUrl}/api/intents/execute`,
  };
}

export const toDescribedIntent = (intent: Pick<Intent, 'deprecated'>, details: IntentDetails): DescribedIntent => ({
  ...details,
  ...(intent.deprecated && { deprecated: true }),
});
