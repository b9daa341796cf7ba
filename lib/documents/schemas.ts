import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import type { ApiParameter, JsonSchema } from '../../schemas/openapi.ts';

/** The side of a schema's transformations: `input` is sent to the gate, `output` by it. */
type Side = 'input' | 'output';

/** Converts zod schemas to JSON Schema; those with an id become components. */
export function openSchemas() {
  const components: Record<string, JsonSchema> = {};

  function add(id: string, schema: JsonSchema): void {
    const known = components[id];
    if (known && !isDeepStrictEqual(known, schema)) throw new TypeError(`two different schemas are called ${id}`);
    components[id] = schema;
  }

  function refer(schema: z.ZodType, side: Side): JsonSchema {
    const { properties, $defs = {} } = convert(z.object({ wanted: schema }), side);
    for (const [id, definition] of Object.entries($defs as Record<string, JsonSchema>)) if (!id.startsWith('__')) add(id, definition);
    return properties?.wanted ?? {};
  }

  return {
    components,
    refer,
    /** Query parameters; all are optional. */
    listQueryParameters: (query: z.ZodObject, examples: Record<string, string> = {}): ApiParameter[] =>
      Object.entries(query.shape).map(([name, schema]) => {
        const { description, ...rest } = refer(schema as z.ZodType, 'output');
        return {
          name,
          in: 'query',
          required: false,
          ...(description !== undefined && { description }),
          ...(refusesEmpty(rest) && { allowEmptyValue: true }),
          schema: rest,
          ...(examples[name] !== undefined && { example: rest.type === 'integer' ? Number(examples[name]) : examples[name] }),
        };
      }),
  };
}

/** Whether a schema rejects empty strings. The gate treats parameters without a value as absent. */
const refusesEmpty = ({ type, minLength = 0, ...rules }: JsonSchema): boolean =>
  type !== 'string' || Number(minLength) > 0 || ['$ref', 'const', 'enum', 'format', 'pattern'].some((rule) => rule in rules);

function convert(schema: z.ZodType, side: Side): JsonSchema {
  const converted = z.toJSONSchema(schema, { io: side, unrepresentable: 'any', override: ({ jsonSchema }) => simplify(jsonSchema) });
  return JSON.parse(JSON.stringify(converted, tidy));
}

/** Removes the pattern of dates, whose format says enough. */
function simplify(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.format === 'date-time') delete schema.pattern;
  delete schema.id;
}

/** Makes references point to components. The only recursive schema without an id is the one for any JSON value. */
function tidy(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('$ref' in value) || typeof value.$ref !== 'string') return value;
  if (value.$ref.startsWith('#/$defs/__')) return {};
  return { ...value, $ref: value.$ref.replace('#/$defs/', '#/components/schemas/') };
}
