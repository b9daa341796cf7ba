import * as z from 'zod';

/**
 * The keywords that every large provider of models accepts in a tool. For any other (`propertyNames`, `pattern`, a long `maxLength`, `$ref`, `anyOf`), some
 * refuse the whole request, with the tools of all servers.
 */
const keywords = new Set([
  ...['type', 'description', 'enum', 'minimum', 'maximum'],
  ...['properties', 'required', 'additionalProperties', 'items', 'minItems', 'maxItems'],
]);

/** The schema of a tool's arguments as models get it. It may allow more than the tool, which checks its arguments itself. */
export function describeInput(input: z.ZodObject): object {
  const { $schema: _, ...schema } = z.toJSONSchema(input, { io: 'input', override: keepAccepted });
  return schema;
}

function keepAccepted({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  for (const keyword of Object.keys(jsonSchema)) if (!keywords.has(keyword)) delete jsonSchema[keyword];
  const { additionalProperties: rest } = jsonSchema;
  // hosts handle `true` better than the equivalent `{}`
  if (typeof rest === 'object' && Object.keys(rest).length === 0) jsonSchema.additionalProperties = true;
}
