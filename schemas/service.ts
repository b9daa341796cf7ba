import * as z from 'zod';
import { credentialFacts } from './credential.ts';
import { openFields } from './header.ts';
import { description, name, webAddress } from './text.ts';

/** The body that registers or replaces a service (specification section 2.5). */
export const serviceInput = z
  .strictObject({
    service_name: name(200),
    service_url: webAddress,
    description,
    policy_url: webAddress.optional(),
    service_logo_url: webAddress.optional(),
    service_terms_of_service_url: webAddress.optional(),
    service_privacy_policy_url: webAddress.optional(),
    headers: openFields.optional(),
  })
  .meta({ id: 'ServiceInput', description: 'The body that registers or replaces a service.' });

export type ServiceInput = z.infer<typeof serviceInput>;

export const service = serviceInput.extend({ service_id: z.string() }).meta({ id: 'Service', description: 'A registered service.' });

export type Service = z.infer<typeof service>;

/** What endpoint 9 answers. */
export const shownService = service
  .extend({ credential: credentialFacts.nullable().optional().describe('shown to admins only; null if the service has none') })
  .meta({ id: 'ShownService', description: 'A registered service; admins also see what is known of its credential.' });

/** What register and update answer (endpoints 6 and 7). */
export const savedService = service
  .pick({ service_id: true, service_name: true, service_url: true, description: true })
  .meta({ id: 'SavedService' });

export const toSavedService = ({ service_id, service_name, service_url, description }: Service): z.infer<typeof savedService> => ({
  service_id,
  service_name,
  service_url,
  description,
});

/** The members that endpoint 9 shows, and no other that a record carries. */
export const toService = (record: Service): Service => service.strip().parse(record);
