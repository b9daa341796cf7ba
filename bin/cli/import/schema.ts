import { BrokenReference, type Cursor } from './cursor.ts';
import { anything, both, either, type Facts } from './facts.ts';
import type { TakeNote } from './notes.ts';

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
];

/**
 * Works out a schema (JSON Schema as OpenAPI 3.0, 3.1 and Swagger 2 have it). What cannot be worked out stands for anything, and is noted.
 * @param trail - the schemas that this one is being worked out for
 */
export function readSchema(schema: Cursor, take: TakeNote, trail: readonly unknown[] = []): Facts {
  if (!schema.isObject) return anything;
  if (trail.includes(schema.value)) {
    take(schema.path, 'the schema is made of itself; that part of it was left out');
    return anything;
  }
  const inner = [...trail, schema.value];
  const branches = ['oneOf', 'anyOf'].map((keyword) => schema.list(keyword).map((branch) => readSchema(branch, take, inner)));
  const alternatives = branches.filter((list) => list.length > 0).map((list) => readAlternatives(list, schema, take));
  const parts = schema.list('allOf').map((part) => readSchema(part, take, inner));
  return [...readReference(schema, take, inner), ...parts, ...alternatives].reduce(both, readOwn(schema, take));
}

function readReference(schema: Cursor, take: TakeNote, trail: readonly unknown[]): Facts[] {
  if (schema.text('$ref') === undefined) return [];
  try {
    return [readSchema(schema.resolve(), take, trail)];
  } catch (error) {
    if (!(error instanceof BrokenReference)) throw error;
    take(error.path, `${error.message}; anything is taken in its place`);
    return [];
  }
}

const isNull = ({ types, enum: allowed }: Facts): boolean =>
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

function readOwn(schema: Cursor, take: TakeNote): Facts {
  for (const keyword of inexpressible) {
    if (schema.child(keyword) !== undefined) take(schema.path, `${keyword} was left out: a parameter cannot say it`);
  }
  const properties = schema.child('properties')?.children() ?? [];
  return {
    types: readTypes(schema),
    enum: readEnum(schema),
    ...readBounds(schema, take),
    minLength: schema.number('minLength'),
    maxLength: schema.number('maxLength'),
    pattern: schema.text('pattern'),
    format: schema.text('format'),
    default: schema.child('default')?.value,
    description: schema.text('description') ?? schema.text('title'),
    isReadOnly: schema.flag('readOnly'),
    isWriteOnly: schema.flag('writeOnly'),
    path: schema.text('$ref') === undefined ? schema.path : undefined,
    properties: new Map(properties.map(([name, property]) => [name, () => readSchema(property, take)])),
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

/** A parameter's bounds are inclusive. `exclusiveMinimum` is a flag in 3.0 and a number in 3.1; for integers the next one takes its place. */
function readBounds(schema: Cursor, take: TakeNote): Pick<Facts, 'minimum' | 'maximum'> {
  const types = readTypes(schema);
  const isInteger = types?.has('integer') === true && !types.has('number');
  const read = (keyword: 'minimum' | 'maximum', exclusiveKeyword: string, next: (bound: number) => number) => {
    const inclusive = schema.number(keyword);
    const exclusive = schema.number(exclusiveKeyword) ?? (schema.flag(exclusiveKeyword) ? inclusive : undefined);
    if (exclusive === undefined) return inclusive;
    if (!isInteger) take(schema.path, `${exclusiveKeyword} was made ${keyword}: a parameter's bounds are inclusive`);
    const bound = isInteger ? next(exclusive) : exclusive;
    return inclusive === undefined ? bound : (keyword === 'minimum' ? Math.max : Math.min)(inclusive, bound);
  };
  return {
    minimum: read('minimum', 'exclusiveMinimum', (bound) => Math.floor(bound) + 1),
    maximum: read('maximum', 'exclusiveMaximum', (bound) => Math.ceil(bound) - 1),
  };
}
