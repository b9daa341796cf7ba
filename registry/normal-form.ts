import { endpoint, type FullIntent, type IntentEndpoint, type IntentInput } from '../schemas/intent.ts';
import { type Parameter, parameter } from '../schemas/parameter.ts';
import { type Service, type ServiceInput, serviceInput } from '../schemas/service.ts';

/** The defined members of a schema, in its order, so that equal records serialise identically. */
const pick = <T extends object>(shape: { readonly [Name in keyof T]: unknown }, given: T): T =>
  Object.fromEntries(
    (Object.keys(shape) as (keyof T)[]).map((name) => [name, given[name]]).filter(([, value]) => value !== undefined),
  ) as T;

const normalizeParameter = (given: Parameter): Parameter => pick(parameter.shape, { ...given, required: given.required || undefined });

/** An intent as its owner would write it: members in order, without empty ones and those that the registry adds. */
export const normalizeIntent = (given: IntentInput | FullIntent): IntentInput => ({
  intent_uid: given.intent_uid,
  intent_name: given.intent_name,
  description: given.description,
  ...(given.category !== undefined && { category: given.category }),
  ...(given.tags?.length && { tags: given.tags }),
  ...(given.deprecated && { deprecated: true }),
  ...(given.draft && { draft: true }),
  ...(given.fields !== undefined && { fields: given.fields }),
  ...(given.strict && { strict: true }),
  endpoint: pick<IntentEndpoint>(endpoint.shape, {
    ...given.endpoint,
    response_headers: given.endpoint.response_headers?.length ? given.endpoint.response_headers : undefined,
  }),
  input_parameters: given.input_parameters.map(normalizeParameter),
  output_parameters: given.output_parameters.map(normalizeParameter),
});

export const normalizeService = (given: ServiceInput | Service): ServiceInput =>
  pick(serviceInput.shape, { ...given, paused: given.paused || undefined });
