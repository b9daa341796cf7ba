import * as z from 'zod';
import { partMediaType } from './media-type.ts';
import { isRawNumber, type Numeric } from './number.ts';
import { description, name } from './text.ts';

export const parameterTypes = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null', 'any'] as const;

export const parameterFormats = ['date', 'date-time', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uri-reference', 'uuid'] as const;

const length = z.int().min(0);

const numeric = z
  .unknown()
  .refine((value) => isRawNumber(value) || Number.isFinite(value), 'must be a number')
  .meta({ type: 'number' }) as unknown as z.ZodType<Numeric>;

/**
 * How an input is serialised, if not by default. `base64`: a text that encodes the bytes of a body or of a part in a multipart form. The others
 * apply to lists and objects in a query or form, where by default items repeat the name and members become separate parameters.
 */
const parameterStyles = ['commas', 'spaces', 'pipes', 'brackets', 'json', 'base64'] as const;

const bound = numeric.optional();

/** The keywords of a schema that constrain values, besides its type. */
export const nestedKeywords = [
  'enum',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'minItems',
  'maxItems',
] as const;

export const jsonTypes = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'] as const;

const jsonType = z.enum(jsonTypes);

/**
 * The items of a list, the members of an object, or alternatives: JSON Schema 2020-12 without references. Keywords that are not named here are
 * allowed and ignored.
 */
const nestedSchema = z
  .looseObject({
    type: z.union([jsonType, z.array(jsonType).min(1).max(7)]).optional(),
    description: z.string().max(4000).optional(),
    $comment: z.string().max(4000).optional(),
    enum: z.array(z.unknown()).min(1, 'must have at least one value').max(1000).optional(),
    minimum: bound,
    maximum: bound,
    exclusiveMinimum: bound,
    exclusiveMaximum: bound,
    multipleOf: bound,
    minLength: length.optional(),
    maxLength: length.optional(),
    minItems: length.optional(),
    maxItems: length.optional(),
    pattern: z.string().max(1000).optional(),
    format: z.string().max(200).optional(),
    required: z.array(z.string()).max(1000).optional(),
    get properties() {
      return z.record(z.string(), nestedSchema).optional();
    },
    get items() {
      return nestedSchema.optional();
    },
    get additionalProperties() {
      return z.union([z.boolean(), nestedSchema]).optional();
    },
    get anyOf() {
      return z.array(nestedSchema).max(100).optional();
    },
  })
  .meta({
    id: 'NestedSchema',
    description: 'The content of a list or object (JSON Schema 2020-12 without references). $comment marks where it was truncated.',
  });

export type NestedSchema = z.infer<typeof nestedSchema>;

/** Maximum total size of an intent's parameter schemas as JSON, in bytes. */
export const maxSchemaBytes = 16 * 1024;

/** An intent's input or output parameter, full form (specification section 2.1). */
export const parameter = z
  .strictObject({
    name: name(200).refine((text) => text !== '__proto__', 'must not be __proto__'),
    type: z.enum(parameterTypes),
    required: z.boolean().optional(),
    description: description.optional(),
    default: z.unknown().optional(),
    enum: z.array(z.unknown()).min(1, 'must have at least one value').max(1000).optional(),
    minimum: numeric.optional(),
    maximum: numeric.optional(),
    minLength: length.optional(),
    maxLength: length.optional(),
    pattern: z.string().max(1000).optional(),
    format: z.enum(parameterFormats).optional(),
    schema: nestedSchema.optional().describe('the content of a list or object, and constraints for which a parameter has no member'),
    in: z
      .enum(['query', 'header', 'body', 'filename', 'content_type'])
      .optional()
      .describe(
        'where an input without a placeholder in the URL is sent; default: depends on the method. filename and content_type are sent with the input that `of` names',
      ),
    of: z.string().max(200).optional().describe('the input whose file name or media type this is'),
    style: z
      .enum(parameterStyles)
      .optional()
      .describe(
        'how a list or object is encoded in a query or form: a=1,2, a=1%202, a=1|2, a[b]=c, or JSON; base64: the string encodes the bytes of the body, or of a file in a multipart form',
      ),
    content_type: partMediaType.optional().describe('of a part of a multipart form'),
  })
  .meta({ id: 'Parameter', description: "An intent's input or output parameter, full form." });

export type Parameter = z.infer<typeof parameter>;

/** A parameter in responses; earlier releases accepted more. */
export const recordedParameter = parameter
  .extend({ name: z.string(), description: z.string().optional() })
  .meta({ id: 'RecordedParameter', description: 'A parameter of a registered intent, full form.' });

/** The members of a parameter that constrain values, besides its type. Code that handles them is typed by this, so a new one compiles only once it is handled everywhere. */
export type KeywordName = Exclude<
  keyof Parameter,
  'name' | 'type' | 'required' | 'description' | 'default' | 'schema' | 'in' | 'of' | 'style' | 'content_type'
>;

export type KeywordValue<Name extends KeywordName> = NonNullable<Parameter[Name]>;

/** The members that search results, details and descriptions show. */
export const parameterSummary = z
  .strictObject({
    name: z.string(),
    type: z.enum(parameterTypes),
    required: z.boolean(),
    description: z.string().optional(),
  })
  .meta({ id: 'ParameterSummary', description: 'A parameter in search results and details.' });

export type ParameterSummary = z.infer<typeof parameterSummary>;

export const summarizeParameter = ({ name, type, required = false, description }: Parameter): ParameterSummary => ({
  name,
  type,
  required,
  ...(description !== undefined && { description }),
});

export const parameters = z
  .array(parameter)
  .max(100, 'must have at most 100 parameters')
  .superRefine((list, context) => {
    const seen = new Set<string>();
    for (const [index, { name }] of list.entries()) {
      if (seen.has(name))
        context.addIssue({ code: 'custom', path: [index, 'name'], message: 'must not repeat the name of another parameter' });
      seen.add(name);
    }
    const written = list.flatMap(({ schema }) => (schema === undefined ? [] : [JSON.stringify(schema)])).join('');
    if (new TextEncoder().encode(written).length > maxSchemaBytes)
      context.addIssue({ code: 'custom', message: `must have schemas of at most ${maxSchemaBytes} bytes together` });
  });
