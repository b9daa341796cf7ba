import type { NestedSchema, Parameter } from '../../schemas/parameter.ts';
import type { Field } from './field-values.ts';

/** The type of a schema, if it allows only one besides null; else `any`. */
export function typeOf({ type, properties, items, enum: choices }: NestedSchema): Parameter['type'] {
  const [first, ...others] = [type ?? []].flat().filter((one) => one !== 'null');
  if (first !== undefined && others.length === 0) return first;
  if (first === undefined && choices === undefined) return properties ? 'object' : items ? 'array' : 'any';
  return 'any';
}

/** Unfolds a schema with one alternative besides null. */
export function unfold(schema: NestedSchema): NestedSchema {
  const [only, ...others] = (schema.anyOf ?? []).filter(({ type }) => type !== 'null');
  return only && others.length === 0 ? { ...schema, ...unfold(only), description: schema.description ?? only.description } : schema;
}

/** Whether a value's members or items get their own fields. */
export const hasFields = (schema: NestedSchema | undefined): boolean => {
  const { properties, items } = unfold(schema ?? {});
  return (properties !== undefined && Object.keys(properties).length > 0) || items !== undefined;
};

/** The field of a member or item. */
export function toField(label: string, schema: NestedSchema, path: readonly string[], isRequired: boolean): Field {
  const { description, enum: choices, minimum, maximum, minLength, maxLength, pattern } = schema;
  const shape = { description, enum: choices, minimum, maximum, minLength, maxLength, pattern } as Partial<Field>;
  return { ...shape, name: path.join('/'), label, type: typeOf(schema), required: isRequired, path, schema };
}

type Members = Record<string, unknown>;

/** An object with another value at a path; undefined removes the member there. An object without members becomes undefined. */
export function withMember(object: Members, [first = '', ...rest]: readonly string[], value: unknown): Members | undefined {
  const { [first]: before, ...others } = object;
  const member = rest.length === 0 ? value : withMember((before ?? {}) as Members, rest, value);
  const members = member === undefined ? others : { ...object, [first]: member };
  return Object.keys(members).length > 0 ? members : undefined;
}

type Example = Pick<Parameter, 'type' | 'default' | 'enum' | 'minimum' | 'description' | 'pattern' | 'schema'> & {
  format?: string | undefined;
};

const formatted: Record<string, string> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  email: 'person@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com',
  'uri-reference': '/example',
  uuid: '123e4567-e89b-42d3-a456-426614174000',
};

const plain: Record<Parameter['type'], unknown> = {
  string: '…',
  number: 1,
  integer: 1,
  boolean: true,
  array: [],
  object: {},
  null: null,
  any: '…',
};

/** An example value: the default, the first choice, one from the description, or a minimal value of the type with its required members. */
export function exampleOf({ type, default: usual, enum: choices, minimum, format = '', description = '', schema = {} }: Example): unknown {
  const known = usual ?? choices?.[0];
  if (known !== undefined) return known;
  const { properties = {}, required = [], items, minItems = 0 } = unfold(schema);
  if (type === 'object') {
    const needed = Object.entries(properties).filter(([name]) => required.includes(name));
    return Object.fromEntries(needed.map(([name, inner]) => [name, exampleOf(ofNested(inner))]));
  }
  if (type === 'array') return items ? Array(Math.max(1, minItems)).fill(exampleOf(ofNested(items))) : [];
  if (type === 'string') return namedIn(description) ?? formatted[format] ?? plain.string;
  return minimum ?? plain[type];
}

const ofNested = (schema: NestedSchema): Example => {
  const inner = unfold(schema);
  return { ...inner, type: typeOf(inner), schema: inner } as Example;
};

/** An example in a description, as in `such as Asia/Tokyo`. */
const namedIn = (description: string): string | undefined => {
  const [, quoted, word] =
    /\b(?:for example|such as|e\.g\.|like)[,:]? (?:[`"'“]([^`"'”]+)[`"'”]|([\w./:+@#-]*[\w/]))/i.exec(description) ?? [];
  return quoted ?? word;
};

/** Example values of the required parameters. */
export function exampleValues(definitions: readonly Parameter[]): Record<string, unknown> {
  return Object.fromEntries(definitions.filter(({ required }) => required).map((definition) => [definition.name, exampleOf(definition)]));
}
