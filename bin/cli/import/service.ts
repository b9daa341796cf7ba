import { type ServiceInput, serviceInput } from '../../../schemas/service.ts';
import type { TakeNote } from './notes.ts';
import { fitDescription, fitName } from './text.ts';

export interface ServiceText {
  name: string | undefined;
  description: string | undefined;
  url: string;
  policyUrl?: string | undefined;
  logoUrl?: string | undefined;
  termsUrl?: string | undefined;
  privacyUrl?: string | undefined;
}

const optional = {
  policyUrl: 'policy_url',
  logoUrl: 'service_logo_url',
  termsUrl: 'service_terms_of_service_url',
  privacyUrl: 'service_privacy_policy_url',
} as const;

/** The service that an import registers. Addresses that the registry would refuse are left out and noted. */
export function makeService(text: ServiceText, path: string, take: TakeNote): ServiceInput {
  const name = fitName(text.name) ?? new URL(text.url).host;
  const description = fitDescription(text.description);
  if (description?.isCut) take(path, 'the description was cut to 4000 characters');
  const service: ServiceInput = { service_name: name, service_url: text.url, description: description?.text ?? name };
  for (const [from, member] of Object.entries(optional)) {
    const address = text[from as keyof typeof optional];
    if (address === undefined) continue;
    if (serviceInput.shape[member].safeParse(address).success) service[member] = address;
    else take(path, `${member} was left out: the document gives no absolute http or https address for it`);
  }
  return service;
}
