import { essenceOf, isJsonContent, isTextType } from '../../functions/core/relay/media-type.ts';
import { compareNumbers, isNumeric, isWhole, type Numeric, numberText, toDouble, toNumeric } from '../../schemas/number.ts';
import { type KeywordName, type KeywordValue, parameterFormats } from '../../schemas/parameter.ts';
import { memoize } from '../memoize.ts';
import { allOf, anything, type Facts, least, most, oneOf } from './facts.ts';
import { type AddNote, follow, isNode, list, membersOf, type Node, node, number, numeric, pathOf, text, texts } from './node.ts';

type Reader<Value> = (schema: Node) => Value | undefined;

const readers: { readonly [Name in KeywordName]: Reader<KeywordValue<Name>> } = {
  enum: readEnum,
  minimum: (schema) => readBound(schema, 'minimum'),
  maximum: (schema) => readBound(schema, 'maximum'),
  minLength: ({ minLength }) => number(minLength),
  maxLength: ({ maxLength }) => number(maxLength),
  pattern: ({ pattern }) => (isRegExpLiteral(pattern) ? undefined : text(pattern)),
  // other formats mostly say how a value is stored, not how it is written
  format: ({ format }) => parameterFormats.find((known) => known === format),
};

const inexpressible = [
  'not',
  'if',
  'uniqueItems',
  'prefixItems',
  'contains',
  'minProperties',
  'maxProperties',
  'patternProperties',
  'propertyNames',
  'dependentRequired',
  'dependentSchemas',
  '$dynamicRef',
  '$recursiveRef',
];

const composing = ['$ref', 'allOf', 'anyOf', 'oneOf'];

/** Resolves a JSON schema. An unresolvable schema allows anything and adds a note. */
export type ReadSchema = (schema: unknown) => Facts;

const maxOpen = 500;

/** A reader for one document, which resolves each referenced schema once. */
export function openSchemaReader(addNote: AddNote): ReadSchema {
  const referred = new Map<Node, Facts>();
  const open = new Set<Node>();

  function read(schema: unknown): Facts {
    if (!isNode(schema)) return schema === true ? { ...anything, isUntyped: true } : anything;
    if (open.has(schema) || open.size >= maxOpen) {
      addNote(pathOf(schema), `the schema is made of ${open.has(schema) ? 'itself' : 'too many others'}; that part of it was left out`);
      return anything;
    }
    // the same facts for every reference, so that they are described once
    if (schema.$ref !== undefined && Object.keys(schema).length === 1) return readReference(schema)[0] ?? anything;
    open.add(schema);
    const alternatives = ['oneOf', 'anyOf'].flatMap((keyword) => {
      const branches = list(schema[keyword]).map(readBranch);
      return branches.length > 0 ? [readAlternatives(branches, schema, addNote)] : [];
    });
    const own = readOwn(schema);
    const parts = list(schema.allOf).map(read);
    // a schema that extends another one is not extended itself
    const extendsThem = parts.length > 1 || own.properties.size > 0;
    const bases = extendsThem ? parts.map((part) => ({ ...part, isExtended: undefined })) : parts;
    const facts = withSelector(allOf([own, ...readReference(schema), ...bases, ...alternatives]), schema, alternatives);
    open.delete(schema);
    return isNullable(schema) ? orNull(facts) : facts;
  }

  /** Some documents before 3.1 write null as a branch with only `nullable`. */
  function readBranch(branch: unknown): Facts {
    const facts = read(branch);
    const isOnlyNull = isNullable(node(branch)) && node(branch).$ref === undefined && facts.types === undefined;
    return isOnlyNull ? { ...facts, types: new Set(['null']) } : facts;
  }

  function readReference(schema: Node): Facts[] {
    if (text(schema.$ref) === undefined) return [];
    const target = follow(schema);
    if (typeof target === 'string') {
      addNote(pathOf(schema), `the reference ${target}; anything is allowed in its place`);
      return [];
    }
    const facts = referred.get(target) ?? read(target);
    if (!open.has(target)) referred.set(target, facts);
    return [facts];
  }

  function readOwn(schema: Node): Facts {
    const note = (words: string) => addNote(pathOf(schema), words);
    for (const keyword of inexpressible) if (schema[keyword] !== undefined) note(`${keyword} was left out: a parameter cannot express it`);
    if (isRegExpLiteral(schema.pattern))
      note('pattern was left out: it is written between slashes, as in JavaScript, and would refuse every value without them');
    // members are read lazily, after their parent, so a schema may contain itself
    const described = Object.entries(membersOf(schema.properties, addNote)).filter(([, member]) => member !== false);
    const properties = described.map(([name, member]) => [name, memoize(() => read(member))] as const);
    const hasAlternatives = list(schema.oneOf).length + list(schema.anyOf).length > 0;
    return {
      types: readTypes(schema),
      ...Object.fromEntries(Object.entries(readers).map(([name, readConstraint]) => [name, readConstraint(schema)])),
      default: toType(schema, schema.default) ?? undefined,
      description: text(schema.description) ?? text(schema.title),
      isReadOnly: schema.readOnly === true || undefined,
      isWriteOnly: schema.writeOnly === true || undefined,
      isBinary: isBytes(schema) || undefined,
      isUntyped: (readTypes(schema) === undefined && !composing.some((keyword) => schema[keyword] !== undefined)) || undefined,
      isEncoded: /^base64(url)?$/i.test(String(schema.contentEncoding)) || undefined,
      // other schemas extend this one by `allOf`
      isExtended: ((schema.discriminator ?? undefined) !== undefined && !hasAlternatives) || undefined,
      items: readItems(schema),
      values: isNode(schema.additionalProperties) ? memoize(() => read(schema.additionalProperties)) : undefined,
      isOpen: [schema.additionalProperties, schema.unevaluatedProperties, ...Object.values(node(schema.patternProperties))].some(
        allowsValues,
      ),
      exclusiveMinimum: isInteger(schema) ? undefined : readExclusive(schema, 'minimum'),
      exclusiveMaximum: isInteger(schema) ? undefined : readExclusive(schema, 'maximum'),
      multipleOf: positive(schema.multipleOf),
      minItems: count(schema.minItems),
      maxItems: count(schema.maxItems),
      path: text(schema.$ref) === undefined ? pathOf(schema) : undefined,
      properties: new Map(properties),
      required: new Set(texts(schema.required)),
    };
  }

  function readItems(schema: Node): (() => Facts) | undefined {
    const allowed = enumOfItems(schema);
    if (schema.items === undefined && allowed === undefined) return undefined;
    return memoize(() => allOf([read(schema.items), ...(allowed === undefined ? [] : [{ ...anything, enum: allowed }])]));
  }

  return read;
}

/** Whether a pattern is written like `/^[a-z]+$/i`. Inside of such a literal, slashes are escaped, so a pattern for paths rarely looks like one. */
const isRegExpLiteral = (pattern: unknown): boolean =>
  typeof pattern === 'string' && /^\/(?:[^/\\[]|\\.|\[(?:[^\]\\]|\\.)*\])+\/[gimsuy]*$/s.test(pattern);

const isNull = ({ types, enum: allowed }: Facts): boolean =>
  (types?.size === 1 && types.has('null')) || (types === undefined && allowed?.length === 1 && allowed[0] === null);

/** Many documents write nullable as `oneOf` with null. */
function readAlternatives(branches: Facts[], schema: Node, addNote: AddNote): Facts {
  const real = branches.filter((branch) => !isNull(branch));
  const united = oneOf(real);
  if (real.length > 1 && united.properties.size > 0) {
    addNote(pathOf(schema), 'has alternatives; their members were merged, and only those that every alternative requires are required');
  }
  const lists = real.flatMap((branch) => [...(branch.items ? [branch.items] : []), ...(branch.lists ?? [])]);
  const mayBeBinary = real.some((branch) => branch.isBinary || branch.mayBeBinary) || undefined;
  return { ...(real.length < branches.length ? orNull(united) : united), mayBeBinary, lists };
}

/** Adds the member that tells alternatives apart, which they often do not describe. */
function withSelector(facts: Facts, { discriminator }: Node, alternatives: readonly Facts[]): Facts {
  const selector = text(node(discriminator).propertyName);
  const isLacking = selector !== undefined && !facts.properties.has(selector) && alternatives.some(({ properties }) => properties.size > 0);
  if (!isLacking) return facts;
  return { ...facts, properties: new Map([...facts.properties, [selector, () => ({ ...anything, types: new Set(['string']) })]]) };
}

/** How documents before OpenAPI 3.1 allow null. */
const isNullable = (schema: Node): boolean => schema.nullable === true || schema['x-nullable'] === true;

export const orNull = (facts: Facts): Facts => (facts.types?.size ? { ...facts, types: new Set([...facts.types, 'null']) } : facts);

/** Whether a schema allows any value; `{ "not": {} }` is how some documents write false. */
const allowsValues = (schema: unknown): boolean => schema === true || (isNode(schema) && schema.not === undefined);

const isBytes = ({ type, format, contentMediaType, contentEncoding }: Node): boolean =>
  type === 'file' ||
  format === 'binary' ||
  (contentEncoding === undefined && text(contentMediaType) !== undefined && !isText(String(contentMediaType)));

function isText(field: string): boolean {
  const mediaType = essenceOf(field) ?? '';
  return isTextType(mediaType) || isJsonContent(mediaType);
}

/** `type` may be a list, or implied by other keywords. Before 3.1, the format `binary` means any bytes. */
function readTypes(schema: Node): Set<string> | undefined {
  const listed = texts([schema.type].flat());
  const types = listed.length > 0 ? listed : impliedTypes(schema);
  return types.length === 0 || types.includes('any') || schema.format === 'binary' ? undefined : new Set(types);
}

function impliedTypes(schema: Node): string[] {
  if (isNode(schema.properties) || isNode(schema.additionalProperties)) return ['object'];
  if (isNode(schema.items)) return ['array'];
  if (schema.contentMediaType !== undefined) return ['string'];
  return [...new Set((readEnum(schema) ?? []).map(typeOf))];
}

const typeOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return isNumeric(value) ? (isWhole(value) ? 'integer' : 'number') : typeof value;
};

/** Allowed values that a list states for its items, as many documents do. */
const enumOfItems = (schema: Node): unknown[] | undefined =>
  texts([schema.type].flat()).includes('array') && Array.isArray(schema.enum) && !schema.enum.some(Array.isArray) ? schema.enum : undefined;

function readEnum(schema: Node): unknown[] | undefined {
  if (schema.const !== undefined) return [toType(schema, schema.const)];
  if (!Array.isArray(schema.enum) || enumOfItems(schema)) return undefined;
  return schema.enum.map((value) => toType(schema, value));
}

const parseNumber = (value: unknown) => (typeof value === 'string' && /^-?(0|[1-9]\d*)(\.\d+)?$/.test(value) ? toNumeric(value) : value);

/** Documents in YAML often quote numbers and booleans, or leave texts unquoted. */
const conversions: Record<string, (value: unknown) => unknown> = {
  integer: parseNumber,
  number: parseNumber,
  boolean: (value) => (value === 'true' || value === 'false' ? value === 'true' : value),
  string: (value) => (isNumeric(value) ? numberText(value) : typeof value === 'boolean' ? String(value) : value),
};

/** An allowed or default value in the type of its schema, if that is unambiguous. */
function toType(schema: Node, value: unknown): unknown {
  const [type = '', ...others] = texts([schema.type].flat()).filter((one) => one !== 'null');
  return others.length === 0 ? (conversions[type]?.(value) ?? value) : value;
}

const exclusives = { minimum: 'exclusiveMinimum', maximum: 'exclusiveMaximum' } as const;
type Bound = keyof typeof exclusives;

/** Before 3.1, `true` makes the bound itself exclusive. */
const readExclusive = (schema: Node, bound: Bound): Numeric | undefined =>
  numeric(schema[exclusives[bound]] === true ? schema[bound] : schema[exclusives[bound]]);

function isInteger(schema: Node): boolean {
  const types = readTypes(schema);
  return types?.has('integer') === true && !types.has('number');
}

function count(value: unknown): number | undefined {
  const double = number(value);
  return double !== undefined && Number.isSafeInteger(double) && double >= 0 ? double : undefined;
}

const positive = (value: unknown): Numeric | undefined => (isNumeric(value) && compareNumbers(value, 0) > 0 ? value : undefined);

/** Parameters support only inclusive bounds, so exclusive bounds of integers become the next integer. */
function readBound(schema: Node, keyword: Bound): Numeric | undefined {
  const isLower = keyword === 'minimum';
  const exclusive = readExclusive(schema, keyword);
  const inclusive = exclusive !== undefined && isInteger(schema) ? nextInteger(exclusive, isLower ? 1n : -1n) : exclusive;
  const known = [numeric(schema[keyword]), inclusive].filter((bound) => bound !== undefined);
  return known.length === 0 ? undefined : (isLower ? most : least)(known);
}

function nextInteger(bound: Numeric, step: 1n | -1n): Numeric {
  const digits = numberText(bound);
  if (/^-?\d+$/.test(digits)) return toNumeric(String(BigInt(digits) + step));
  const double = toDouble(bound);
  if (double === undefined) return bound;
  return step > 0 ? Math.floor(double) + 1 : Math.ceil(double) - 1;
}
