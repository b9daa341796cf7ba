import type { FullIntent, IntentInput } from '../../../schemas/intent.ts';
import { type Parameter, parameter } from '../../../schemas/parameter.ts';
import type { Service, ServiceInput } from '../../../schemas/service.ts';

/** What is undefined is left out, so that what says the same is the same. */
const present = <T extends object>(members: T): T =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;

/** A parameter's members in the order of the schema. */
const normalizeParameter = (given: Parameter): Parameter => {
  const members = { ...given, required: given.required || undefined };
  const names = Object.keys(parameter.shape) as (keyof Parameter)[];
  return present(Object.fromEntries(names.map((name) => [name, members[name]]))) as Parameter;
};

/** An intent as its owner would write it: in one order, without what the registry adds and without what says nothing. */
export const normalizeIntent = (given: IntentInput | FullIntent): IntentInput =>
  present({
    intent_uid: given.intent_uid,
    intent_name: given.intent_name,
    description: given.description,
    category: given.category,
    tags: given.tags?.length ? given.tags : undefined,
    deprecated: given.deprecated || undefined,
    endpoint: { method: given.endpoint.method, url: given.endpoint.url, content_type: given.endpoint.content_type },
    input_parameters: given.input_parameters.map(normalizeParameter),
    output_parameters: given.output_parameters.map(normalizeParameter),
  }) as IntentInput;

export const normalizeService = (given: ServiceInput | Service): ServiceInput =>
  present({
    service_name: given.service_name,
    service_url: given.service_url,
    description: given.description,
    policy_url: given.policy_url,
    service_logo_url: given.service_logo_url,
    service_terms_of_service_url: given.service_terms_of_service_url,
    service_privacy_policy_url: given.service_privacy_policy_url,
  }) as ServiceInput;
