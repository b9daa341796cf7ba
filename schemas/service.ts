import * as z from 'zod';
import { isNamespace } from './intent-uid.ts';
import { description, name, webAddress } from './text.ts';

/** A namespace, short enough for the name of the group of its admins. */
export const namespace = z
  .string()
  .max(120, 'must have at most 120 characters')
  .refine(isNamespace, 'must be letters, digits, dots and hyphens, as before the first colon of an intent_uid');

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
    namespace: namespace
      .optional()
      .describe('in which all its intents stand, and whose admins may change it; never changes once it is set'),
  })
  .meta({ id: 'ServiceInput', description: 'The body that registers or replaces a service.' });

export type ServiceInput = z.infer<typeof serviceInput>;

/** The body that replaces a service: also what a read shows besides, if it is that of the record. */
export const serviceUpdate = serviceInput
  .extend({ service_id: z.string().optional().describe('must be that of the path') })
  .meta({ id: 'ServiceUpdate', description: 'The body that replaces a service, as a read of the service shows it.' });

export const service = serviceInput.extend({ service_id: z.string() }).meta({ id: 'Service', description: 'A registered service.' });

export type Service = z.infer<typeof service>;

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
