import { type ConstraintName, type ConstraintValue, parameterFormats } from '../../../schemas/parameter.ts';
import { BrokenReference, type Cursor } from './cursor.ts';
import { anything, both, type Constraints, either, type Facts, once } from './facts.ts';
import type { TakeNote } from './notes.ts';

/** How a constraint is read from a schema. */
type Reader<Value> = (schema: Cursor) => Value | undefined;

const number =
  (keyword: string): Reader<number> =>
  (schema) =>
    schema.number(keyword);

/** How the constraints of parameters are written in a schema. */
const readers: { readonly [Name in ConstraintName]: Reader<ConstraintValue<Name>> } = {
  enum: readEnum,
  minimum: (schema) => readBound(schema, 'minimum'),
  maximum: (schema) => readBound(schema, 'maximum'),
  minLength: number('minLength'),
  maxLength: number('maxLength'),
  pattern: (schema) => schema.text('pattern'),
  // others, such as OpenAPI's own, mostly say how a value is stored, not what it looks like
  format: (schema) => parameterFormats.find((format) => format === schema.text('format')),
};

/** Constraints that a parameter of an intent has no member for. */
const inexpressible = [
  'multipleOf',
  'not',
  'if',
  'minItems',
  'maxItems',
  'uniqueItems',
  'contains',
  'minProperties',
  'maxProperties',
  'patternProperties',
  'propertyNames',
  'dependentRequired',
  'dependentSchemas',
].filter((keyword) => !(keyword in readers));

/** Works out schemas (JSON Schema as OpenAPI 3.0, 3.1 and Swagger 2 have it). What cannot be worked out stands for anything, and is noted. */
export type ReadSchema = (schema: Cursor) => Facts;

/** A reader for one document. What is referred to is worked out once, however many schemas are made of it. */
export function openSchemaReader(take: TakeNote): ReadSchema {
  const referred = new Map<unknown, Facts>();
  const open = new Set<unknown>();

  function read(schema: Cursor): Facts {
    if (!schema.isObject) return anything;
    if (open.has(schema.value)) {
      take(schema.path, 'the schema is made of itself; that part of it was left out');
      return anything;
    }
    open.add(schema.value);
    const alternatives = ['oneOf', 'anyOf'].flatMap((keyword) => {
      const branches = schema.list(keyword).map(read);
      return branches.length > 0 ? [readAlternatives(branches, schema, take)] : [];
    });
    const parts = schema.list('allOf').map(read);
    const facts = [...readReference(schema), ...parts, ...alternatives].reduce(both, readOwn(schema, take, readLater));
    open.delete(schema.value);
    return facts;
  }

  /** A member is worked out when it is asked for: by then its holder is no longer open, so a schema may have itself as a member. */
  const readLater = (schema: Cursor): (() => Facts) => once(() => read(schema));

  function readReference(schema: Cursor): Facts[] {
    if (schema.text('$ref') === undefined) return [];
    try {
      const target = schema.resolve();
      const facts = referred.get(target.value) ?? read(target);
      if (!open.has(target.value)) referred.set(target.value, facts);
      return [facts];
    } catch (error) {
      if (!(error instanceof BrokenReference)) throw error;
      take(error.path, `${error.message}; anything is taken in its place`);
      return [];
    }
  }

  return read;
}

const isNull = ({ types, constraints: { enum: allowed } }: Facts): boolean =>
  (types?.size === 1 && types.has('null')) || (types === undefined && allowed?.length === 1 && allowed[0] === null);

/** `oneOf` with a null beside one other branch is how many documents say nullable. */
function readAlternatives(branches: Facts[], schema: Cursor, take: TakeNote): Facts {
  const real = branches.filter((branch) => !isNull(branch));
  const united = either(real);
  if (real.length > 1 && united.properties.size > 0) {
    take(schema.path, 'has alternatives; their members were put together, and only what all of them require is required');
  }
  const isNullable = real.length < branches.length;
  return isNullable && united.types ? { ...united, types: new Set([...united.types, 'null']) } : united;
}

function readOwn(schema: Cursor, take: TakeNote, readLater: (member: Cursor) => () => Facts): Facts {
  for (const keyword of inexpressible) {
    if (schema.child(keyword) !== undefined) take(schema.path, `${keyword} was left out: a parameter cannot say it`);
  }
  const properties = schema.child('properties')?.children() ?? [];
  for (const keyword of ['exclusiveMinimum', 'exclusiveMaximum'] as const) {
    if (!isInteger(schema) && readExclusive(schema, keyword) !== undefined)
      take(schema.path, `${keyword} was made ${inclusive[keyword]}: a parameter's bounds are inclusive`);
  }
  return {
    types: readTypes(schema),
    constraints: Object.fromEntries(Object.entries(readers).map(([name, read]) => [name, read(schema)])) as Constraints,
    default: schema.child('default')?.value,
    description: schema.text('description') ?? schema.text('title'),
    isReadOnly: schema.flag('readOnly'),
    isWriteOnly: schema.flag('writeOnly'),
    path: schema.text('$ref') === undefined ? schema.path : undefined,
    properties: new Map(properties.map(([name, property]) => [name, readLater(property)])),
    required: new Set(schema.list('required').flatMap(({ value }) => (typeof value === 'string' ? [value] : []))),
  };
}

/** `type` is a text, or from 3.1 on a list; 3.0 says `nullable`, Swagger 2 at best `x-nullable`. Without `type`, other keywords tell. */
function readTypes(schema: Cursor): Set<string> | undefined {
  const type = schema.child('type')?.value;
  const listed = (Array.isArray(type) ? type : [type]).filter((one) => typeof one === 'string');
  const types = listed.length > 0 ? listed : impliedTypes(schema);
  if (types.length === 0 || types.includes('any')) return undefined;
  const isNullable = schema.flag('nullable') || schema.flag('x-nullable');
  return new Set([...types, ...(isNullable ? ['null'] : [])]);
}

function impliedTypes(schema: Cursor): string[] {
  if (['properties', 'additionalProperties'].some((keyword) => schema.child(keyword)?.isObject)) return ['object'];
  if (schema.child('items')?.isObject) return ['array'];
  const values = readEnum(schema);
  return values === undefined || values.length === 0 ? [] : [...new Set(values.map(typeOf))];
}

const typeOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
};

function readEnum(schema: Cursor): unknown[] | undefined {
  const constant = schema.child('const');
  if (constant !== undefined) return [constant.value];
  const allowed = schema.child('enum')?.value;
  return Array.isArray(allowed) ? allowed : undefined;
}

const inclusive = { exclusiveMinimum: 'minimum', exclusiveMaximum: 'maximum' } as const;

function isInteger(schema: Cursor): boolean {
  const types = readTypes(schema);
  return types?.has('integer') === true && !types.has('number');
}

/** `exclusiveMinimum` is a flag in 3.0 and a number in 3.1. */
const readExclusive = (schema: Cursor, keyword: keyof typeof inclusive): number | undefined =>
  schema.number(keyword) ?? (schema.flag(keyword) ? schema.number(inclusive[keyword]) : undefined);

/** A parameter's bounds are inclusive: for integers the next one takes the place of an exclusive bound. */
function readBound(schema: Cursor, keyword: 'minimum' | 'maximum'): number | undefined {
  const isLower = keyword === 'minimum';
  const exclusive = readExclusive(schema, isLower ? 'exclusiveMinimum' : 'exclusiveMaximum');
  const next = (bound: number) => (isLower ? Math.floor(bound) + 1 : Math.ceil(bound) - 1);
  const bounds = [schema.number(keyword), exclusive !== undefined && isInteger(schema) ? next(exclusive) : exclusive];
  const known = bounds.filter((bound) => bound !== undefined);
  return known.length === 0 ? undefined : (isLower ? Math.max : Math.min)(...known);
}
