import type { ApiDocument, ApiOperation, ApiParameter, JsonSchema } from '../../../schemas/openapi.ts';
import { type ParameterSummary, parameterTypes } from '../../../schemas/parameter.ts';
import type { DescribedIntent } from '../../../schemas/service-description.ts';

/** The operations that an agent starts with; all others are for admins, or of no use to an agent. */
const operationIds = ['search-intents', 'get-intent', 'get-policy', 'issue-pat', 'execute-intent'];

/**
 * This gate's own operations in the form of intents, in the namespace of its host.
 * Headers are left out, including credentials: the descriptions say what to send.
 */
export function listOwnIntents(document: ApiDocument, baseUrl: string): DescribedIntent[] {
  const namespace = new URL(baseUrl).hostname.replace(/[^a-zA-Z0-9.-]/g, '-');
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.values(methods).map((operation) => ({ path, operation })),
  );
  return operationIds.flatMap((id) =>
    operations
      .filter(({ operation }) => operation.operationId === id)
      .map(({ path, operation }) => {
        const { summary, description, tags } = operation;
        const parameters = (operation.parameters ?? []).filter((parameter): parameter is ApiParameter => 'in' in parameter);
        const query = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
        return {
          intent_uid: `${namespace}:${id}:v1`,
          service_name: 'Intent Gate',
          intent_name: summary,
          description,
          input_parameters: [
            ...parameters.map(({ name, required, description, schema }) => summarize(document, name, { description, ...schema }, required)),
            ...members(document, operation.requestBody?.content['application/json']?.schema),
          ],
          output_parameters: members(document, answerOf(operation)),
          endpoint: `${baseUrl}${path}${query.length > 0 ? `{?${query.join(',')}}` : ''}`,
          tags,
        };
      }),
  );
}

function answerOf({ responses }: ApiOperation): JsonSchema | undefined {
  const success = responses['200'];
  return success && 'content' in success ? success.content?.['application/json']?.schema : undefined;
}

function members(document: ApiDocument, schema: JsonSchema | undefined): ParameterSummary[] {
  const { properties = {}, required = [] } = resolve(document, schema);
  return Object.entries(properties).map(([name, member]) => summarize(document, name, member, required.includes(name)));
}

function summarize(document: ApiDocument, name: string, schema: JsonSchema, required: boolean): ParameterSummary {
  const { type, description = schema.description } = resolve(document, schema);
  return {
    name,
    type: parameterTypes.find((known) => known === type) ?? 'any',
    required,
    ...(description !== undefined && { description }),
  };
}

/** Follows a reference, and takes the first of several forms. */
function resolve({ components }: ApiDocument, schema: JsonSchema = {}): JsonSchema {
  const [first] = (schema.anyOf ?? []) as JsonSchema[];
  const { $ref } = first ?? schema;
  return ($ref && components.schemas[$ref.replace('#/components/schemas/', '')]) || first || schema;
}
