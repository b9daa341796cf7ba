import { type ServiceInput, serviceInput } from '../../schemas/service.ts';
import type { AddNote } from './node.ts';
import { fitDescription, fitName } from './text.ts';

const addresses = ['policy_url', 'service_logo_url', 'service_terms_of_service_url', 'service_privacy_policy_url'] as const;

type ServiceText = { service_url: string } & { [Member in keyof ServiceInput]?: string | undefined };

/** Makes a service, leaving out and noting addresses that the registry would refuse. */
export function makeService(given: ServiceText, headers: Record<string, string>, path: string, addNote: AddNote): ServiceInput {
  const name = fitName(given.service_name, path, addNote) ?? new URL(given.service_url).host;
  const description = fitDescription(given.description, path, addNote) ?? name;
  const service: ServiceInput = { service_name: name, service_url: given.service_url, description };
  for (const member of addresses) {
    const address = given[member];
    if (address === undefined) continue;
    const parsed = serviceInput.shape[member].safeParse(address);
    if (parsed.success) service[member] = parsed.data;
    else addNote(path, `${member} was left out: the document gives no absolute http or https address for it`);
  }
  if (Object.keys(headers).length > 0) service.headers = headers;
  return service;
}
