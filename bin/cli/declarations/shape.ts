import type { Parameter } from '../../../schemas/parameter.ts';

/** The part of a schema that type systems can express. */
export type Shape =
  | { kind: 'any' | 'boolean' | 'string' | 'number' | 'integer' | 'null' }
  | { kind: 'literals'; values: (string | number | boolean | null)[] }
  | { kind: 'list'; of: Shape }
  /** `rest`: type of unnamed members; undefined if none are allowed */
  | { kind: 'object'; members: Member[]; rest?: Shape | undefined }
  | { kind: 'union'; of: Shape[] };

export interface Member {
  name: string;
  description: string | undefined;
  isRequired: boolean;
  shape: Shape;
}

type Schema = Record<string, unknown>;

const any: Shape = { kind: 'any' };

/** Deeper schemas become `any`. */
const maxDepth = 12;

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null && !Array.isArray(value);

const isScalar = (value: unknown): value is string | number | boolean | null =>
  value === null || ['string', 'number', 'boolean'].includes(typeof value);

export const readParameters = (parameters: readonly Parameter[]): Shape => ({
  kind: 'object',
  members: parameters.map((parameter) => ({
    name: parameter.name,
    description: parameter.description,
    isRequired: parameter.required === true && parameter.default === undefined,
    shape: readSchema(schemaOf(parameter)),
  })),
});

/** The parameter's scalar `enum` if any, else its nested schema, which is more precise than the parameter itself. */
function schemaOf(parameter: Parameter): object {
  const { enum: choices, schema } = parameter;
  if (schema === undefined || !choices?.every(isScalar)) return schema ?? parameter;
  return { enum: choices, nullable: [schema.type].flat().includes('null') };
}

/** Falls back to `any` where types cannot express the schema. */
export function readSchema(schema: unknown, depth = 0): Shape {
  if (!isSchema(schema) || depth > maxDepth) return any;
  const shape = readKind(schema, depth);
  return schema.nullable === true ? union([shape, { kind: 'null' }]) : shape;
}

function readKind(schema: Schema, depth: number): Shape {
  const { type, enum: choices = schema.const === undefined ? undefined : [schema.const] } = schema;
  if (Array.isArray(choices))
    return choices.length > 0 && choices.every(isScalar) ? { kind: 'literals', values: [...new Set(choices)] } : any;
  if (Array.isArray(type)) return union(type.map((one) => readKind({ ...schema, type: one, anyOf: undefined, oneOf: undefined }, depth)));
  if (Array.isArray(schema.allOf) && schema.allOf.length > 0) return readAllOf(schema, schema.allOf, depth);
  const branches = schema.anyOf ?? schema.oneOf;
  // types cannot express alternatives combined with the schema's own type or properties
  if (Array.isArray(branches) && type === undefined && !isSchema(schema.properties)) {
    return union(branches.map((branch) => readSchema(branch, depth + 1)));
  }
  if (type === 'object' || (type === undefined && isSchema(schema.properties))) return readObject(schema, depth);
  if (type === 'array' || (type === undefined && isSchema(schema.items))) return { kind: 'list', of: readSchema(schema.items, depth + 1) };
  if (type === 'string' || type === 'number' || type === 'integer' || type === 'boolean' || type === 'null') return { kind: type };
  return any;
}

function readObject({ properties, required, additionalProperties: others }: Schema, depth: number): Shape {
  const names = isSchema(properties) ? Object.entries(properties) : [];
  const isNamed = (name: string) => Array.isArray(required) && required.includes(name);
  const members = names.map(([name, schema]) => ({
    name,
    description: isSchema(schema) && typeof schema.description === 'string' ? schema.description : undefined,
    isRequired: isNamed(name) && !(isSchema(schema) && schema.default !== undefined),
    shape: readSchema(schema, depth + 1),
  }));
  if (isSchema(others) && members.length === 0) return { kind: 'object', members, rest: readSchema(others, depth + 1) };
  return { kind: 'object', members, rest: members.length === 0 || others === true || isSchema(others) ? any : undefined };
}

/** Merges `allOf`: the members of all objects. */
function readAllOf(schema: Schema, parts: unknown[], depth: number): Shape {
  const shapes = [...parts, { ...schema, allOf: undefined }]
    .map((part) => readSchema(part, depth + 1))
    .filter(({ kind }) => kind !== 'any');
  const [only, ...more] = shapes;
  if (only && more.length === 0) return only;
  const objects = shapes.flatMap((shape) => (shape.kind === 'object' ? [shape] : []));
  if (objects.length === 0 || objects.length < shapes.length) return any;
  const members = new Map(objects.flatMap((object) => object.members.map((member) => [member.name, member])));
  return { kind: 'object', members: [...members.values()], rest: objects.some(({ rest }) => rest) ? any : undefined };
}

function union(shapes: Shape[]): Shape {
  const [only, ...more] = shapes;
  if (only === undefined || shapes.some(({ kind }) => kind === 'any')) return any;
  return more.length === 0 ? only : { kind: 'union', of: shapes };
}
