import { findPatternProblem, keywordNames } from '../../functions/core/parameters/keywords.ts';
import { compileNested, openNestedBudget } from '../../functions/core/parameters/nested.ts';
import { openMatchingBudget } from '../../functions/core/parameters/pattern.ts';
import { jsonTypes, maxSchemaBytes, type NestedSchema, nestedKeywords, type Parameter } from '../../schemas/parameter.ts';
import { memoizeFor } from '../memoize.ts';
import type { Facts } from './facts.ts';
import type { AddNote } from './node.ts';
import { fitDescription, withDefault } from './text.ts';

/** An intent may have 32 levels of JSON, and each schema level takes two. */
const maxLevels = 12;

/** Maximum lengths of member descriptions to try in turn, in UTF-16 units. */
const descriptionLengths = [400, 120, 0];

const cutComment = 'truncated: deeper levels are not described';
const loopComment = 'truncated: the same structure repeats inside';

interface Described {
  parameter: Parameter;
  facts: Facts;
  /** whether null is sent as a value instead of omitting the parameter */
  isNullSent: boolean;
}

/**
 * Adds schemas of nested values, up to 16 KB per intent, and omits deeper levels that do not fit.
 * @param path - JSON pointer to the operation
 */
export function describeInside(described: readonly Described[], path: string, addNote: AddNote): Parameter[] {
  let fitting: Written[] | undefined;
  for (const [at, length] of descriptionLengths.entries()) {
    for (let levels = (fitting ? levelsOf(fitting) : 0) + 1; levels <= maxLevels; levels++) {
      const written = described.map((one) => writeOnce(one, levels, length));
      if (written.reduce((sum, { bytes }) => sum + bytes, 0) > maxSchemaBytes) break;
      fitting = written;
      if (!written.some(({ isCut }) => isCut)) break;
    }
    // with few levels, shorten descriptions to gain another level
    if (fitting && (at > 0 || levelsOf(fitting) > 2 || !fitting.some(({ isCut }) => isCut))) break;
  }
  if (fitting === undefined) addNote(path, 'its nested inputs are not described, because even their first level takes more than 16 KB');
  else if (fitting.some(({ isCut }) => isCut))
    addNote(path, `its nested inputs are described only to level ${levelsOf(fitting)}, because more takes over 16 KB`);
  return described.map(({ parameter }, at) => {
    const schema = fitting?.[at]?.schema;
    return schema === undefined ? parameter : { ...parameter, schema };
  });
}

interface Written {
  /** undefined if the parameter itself is complete */
  schema: NestedSchema | undefined;
  bytes: number;
  levels: number;
  isCut: boolean;
}

const levelsOf = (written: readonly Written[]): number => Math.max(...written.map(({ levels }) => levels));

/** The schemas of each value, by how they are written: operations that refer to the same schema have the same facts. */
const writtenFor = memoizeFor((_facts: Facts) => new Map<string, Written>());

function writeOnce(described: Described, levels: number, descriptionLength: number): Written {
  const written = writtenFor(described.facts);
  const key = `${levels} ${descriptionLength} ${described.isNullSent}`;
  const known = written.get(key) ?? write(described, levels, descriptionLength);
  written.set(key, known);
  return known;
}

const plainDescription = memoizeFor(({ description }: Facts) => fitDescription(description, '', () => {}));

function write({ facts, isNullSent }: Described, levels: number, descriptionLength: number): Written {
  /** no more than the size of the whole in bytes: of each schema without those in it, and of its name */
  let leastBytes = 0;
  let isCut = false;

  const toSchema = (facts: Facts, level: number, open: readonly Facts[]): NestedSchema => {
    if (leastBytes > maxSchemaBytes) return {};
    const { items, values, properties, types } = facts;
    const required = types === undefined || types.has('object') ? [...facts.required].filter((name) => name !== '__proto__') : [];
    const schema: NestedSchema = { ...typeOf(facts, level > 0 || isNullSent), ...constraintsOf(facts, level === 0) };
    const text = level > 0 && descriptionLength > 0 ? plainDescription(facts) : undefined;
    if (text !== undefined) schema.description = text.length <= descriptionLength ? text : `${text.slice(0, descriptionLength - 1)}…`;
    if (level > 0 && descriptionLength > 0 && allows(schema, facts.default))
      schema.description = withDefault(schema.description, facts.default, descriptionLength);
    leastBytes += JSON.stringify(schema).length + 3;
    if (items === undefined && values === undefined && properties.size === 0 && required.length === 0) return schema;
    const isLoop = open.includes(facts);
    if (isLoop || level >= levels) {
      isCut ||= !isLoop;
      return { ...schema, $comment: isLoop ? loopComment : cutComment };
    }
    const inside = (read: () => Facts) => toSchema(read(), level + 1, [...open, facts]);
    const members = [...properties].filter(([name, read]) => name !== '__proto__' && !read().isReadOnly);
    const needed = required.filter((name) => properties.get(name)?.().isReadOnly !== true);
    if (items !== undefined) schema.items = inside(items);
    if (members.length > 0) schema.properties = Object.fromEntries(members.map(([name, read]) => [name, inside(read)]));
    if (needed.length > 0) schema.required = needed;
    if (values !== undefined) schema.additionalProperties = inside(values);
    return schema;
  };

  const whole = toSchema(facts, 0, []);
  const isNeeded = Array.isArray(whole.type) || membersInside.some((name) => whole[name] !== undefined);
  if (!isNeeded) return { schema: undefined, bytes: 0, levels, isCut };
  if (leastBytes > maxSchemaBytes) return { schema: undefined, bytes: leastBytes, levels, isCut };
  return { schema: whole, bytes: new TextEncoder().encode(JSON.stringify(whole)).length, levels, isCut };
}

const allows = (schema: NestedSchema, value: unknown): boolean =>
  value !== undefined && compileNested(schema)(value, [], openNestedBudget(openMatchingBudget())).length === 0;

/** Constraints that only a nested schema can express. */
const nestedOnly = nestedKeywords.filter((name) => !(keywordNames as readonly string[]).includes(name));

/** Members with which a schema says more than its parameter does. */
const membersInside = [
  'items',
  'properties',
  'required',
  'additionalProperties',
  '$comment',
  ...nestedOnly,
] satisfies (keyof NestedSchema)[];

function typeOf({ types: all }: Facts, mayBeNull: boolean): NestedSchema {
  const types = [...(all ?? [])].filter((type) => mayBeNull || type !== 'null');
  const known = jsonTypes.filter((type) => types.includes(type));
  const [first, ...others] = known.includes('number') ? known.filter((type) => type !== 'integer') : known;
  if (first === undefined || known.length < types.length) return {};
  return { type: others.length === 0 ? first : [first, ...others] };
}

/** Longer enumerations and patterns are omitted; the service checks such values. */
const [maxValues, maxPatternLength] = [100, 1_000];

const isUsablePattern = (pattern: string): boolean => pattern.length <= maxPatternLength && findPatternProblem(pattern) === undefined;

function constraintsOf(facts: Facts, isWhole: boolean): NestedSchema {
  const constraints = nestedKeywords
    .filter((name) => !isWhole || nestedOnly.some((other) => other === name))
    .map((name) => [name, facts[name]] as const);
  const allowed = facts.types?.has('null') && facts.enum && !facts.enum.includes(null) ? [...facts.enum, null] : facts.enum;
  return Object.fromEntries(
    constraints
      .filter(([name, value]) => value !== undefined && name !== 'enum' && (name !== 'pattern' || isUsablePattern(String(value))))
      .concat(!isWhole && allowed && allowed.length <= maxValues ? [['enum', allowed]] : []),
  );
}
