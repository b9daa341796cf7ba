import * as z from 'zod';
import { credentialFacts, type StoredCredential, toCredentialFacts } from './credential.ts';
import { publicHeaders } from './header.ts';
import { isNamespace } from './intent-uid.ts';
import { pageQuery } from './pagination.ts';
import { rateLimit } from './pat.ts';
import { description, name, webAddress } from './text.ts';

/** Short enough for the name of its admin group. */
export const namespace = z
  .string()
  .max(120)
  .refine(isNamespace, 'must be letters, digits, dots and hyphens, like the beginning of an intent_uid');

const maxPeriod = 366 * 86_400;

/** The body that registers or replaces a service (specification section 2.5). */
export const serviceInput = z
  .strictObject({
    service_name: name(200).overwrite((text) => text.trim()),
    service_url: webAddress,
    description,
    policy_url: webAddress.optional(),
    service_logo_url: webAddress.optional(),
    service_terms_of_service_url: webAddress.optional(),
    service_privacy_policy_url: webAddress.optional(),
    namespace: namespace.optional().describe('the prefix of its intent ids; its admins can edit this service. Permanent.'),
    headers: publicHeaders.optional(),
    limit: rateLimit
      .extend({ period: rateLimit.shape.period.max(maxPeriod, `must be at most ${maxPeriod} seconds, a year`) })
      .optional()
      .describe('at most `rate` calls by all agents together in any `period` seconds'),
    paused: z
      .boolean()
      .optional()
      .describe('true refuses every execution of its intents (503, `paused`); they can still be found and read'),
  })
  .meta({ id: 'ServiceInput', description: 'The body that registers or replaces a service.' });

export type ServiceInput = z.infer<typeof serviceInput>;

/** The body that replaces a service. Read-only members of a response are accepted if they are unchanged. */
export const serviceUpdate = serviceInput
  .extend({
    service_id: z.string().optional().describe('must be that of the path'),
    credential: credentialFacts.nullable().optional().describe('must be as GET returned it'),
  })
  .meta({ id: 'ServiceUpdate', description: 'The body that replaces a service, as GET returns it.' });

const recordedAddress = z.string().meta({ format: 'uri' });

/** A service in responses; earlier releases accepted more. */
export const service = serviceInput
  .extend({
    service_name: z.string(),
    service_url: recordedAddress,
    description: z.string(),
    policy_url: recordedAddress.optional(),
    service_logo_url: recordedAddress.optional(),
    service_terms_of_service_url: recordedAddress.optional(),
    service_privacy_policy_url: recordedAddress.optional(),
    service_id: z.string(),
  })
  .meta({ id: 'Service', description: 'A registered service.' });

export type Service = z.infer<typeof service>;

/** The response of `GET /api/services/{service_id}`. */
export const shownService = service
  .extend({ credential: credentialFacts.nullable().optional().describe('shown to admins only; null if the service has none') })
  .meta({ id: 'ShownService', description: 'A registered service; admins also see the metadata of its credential.' });

export type ShownService = z.infer<typeof shownService>;

/** The response of endpoints 6 and 7. */
export const savedService = service
  .pick({ service_id: true, service_name: true, service_url: true, description: true })
  .meta({ id: 'SavedService' });

export type SavedService = z.infer<typeof savedService>;

export const toSavedService = ({ service_id, service_name, service_url, description }: Service): SavedService => ({
  service_id,
  service_name,
  service_url,
  description,
});

const members = service.strip();

/** The public members of a record. */
export const toService = (record: Service): Service => members.parse(record);

export const servicesQuery = z.object({
  name: z
    .string()
    .max(10_240)
    .optional()
    .describe("words that must all occur in the service's name; a page may then be short or empty although more follow"),
  after: z
    .string()
    .refine((text) => new TextEncoder().encode(text).length <= 1_024, 'must have at most 1024 bytes')
    .optional()
    .describe('the last name of the previous page, as in the next link'),
  ...pageQuery.shape,
});

const listedService = service
  .pick({ service_id: true, service_name: true, service_url: true, description: true, limit: true, paused: true })
  .extend({
    intents: z.int().min(0).describe('number of its intents'),
    credential: shownService.shape.credential,
  })
  .meta({ id: 'ListedService' });

export const serviceList = z
  .strictObject({
    services: z.array(listedService),
    pagination: z.strictObject({ current_page: z.int().min(1), page_size: z.int().min(1) }),
  })
  .meta({ id: 'ServiceList', description: 'A page of the services, ordered by name.' });

export type ServiceList = z.infer<typeof serviceList>;

export const toListedService = (
  record: Service & { credential?: StoredCredential | undefined; intents: number },
  isForAdmin: boolean,
): z.infer<typeof listedService> => ({
  ...toSavedService(record),
  intents: record.intents,
  ...(record.limit && { limit: record.limit }),
  ...(record.paused && { paused: true }),
  ...(isForAdmin && { credential: record.credential ? toCredentialFacts(record.credential) : null }),
});
