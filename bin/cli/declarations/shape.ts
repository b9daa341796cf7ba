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
    shape: readParameter(parameter),
  })),
});

/** Prefers the parameter's scalar `enum`, then its nested schema, which is more precise than the parameter itself. */
function readParameter(parameter: Parameter): Shape {
  const { enum: choices, schema } = parameter;
  if (schema === undefined || !choices?.every(isScalar)) return readSchema(schema ?? parameter);
  const values = readSchema({ enum: choices });
  return [schema.type].flat().includes('null') ? union([values, { kind: 'null' }]) : values;
}

/** Reads the keywords that the gate checks. Falls back to `any` where types cannot express the schema. */
export function readSchema(schema: unknown, depth = 0): Shape {
  if (!isSchema(schema) || depth > maxDepth) return any;
  const { type, enum: choices, anyOf: branches } = schema;
  if (Array.isArray(choices))
    return choices.length > 0 && choices.every(isScalar) ? { kind: 'literals', values: [...new Set(choices)] } : any;
  if (Array.isArray(type)) return union(type.map((one) => readSchema({ ...schema, type: one, anyOf: undefined }, depth)));
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

function union(shapes: Shape[]): Shape {
  const [only, ...more] = shapes;
  if (only === undefined || shapes.some(({ kind }) => kind === 'any')) return any;
  return more.length === 0 ? only : { kind: 'union', of: shapes };
}
