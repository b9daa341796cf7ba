import { canonicalText } from '../../schemas/canonical.ts';
import { compareNumbers, type Numeric } from '../../schemas/number.ts';
import type { KeywordName, KeywordValue } from '../../schemas/parameter.ts';
import { memoize } from '../memoize.ts';

type Constraints = { [Name in KeywordName]?: KeywordValue<Name> | undefined };

/** The constraints on a value, with references and combinations resolved. */
export interface Facts extends Constraints {
  /** undefined: any type */
  types?: ReadonlySet<string> | undefined;
  default?: unknown;
  description?: string | undefined;
  isReadOnly?: true | undefined;
  isWriteOnly?: true | undefined;
  /** bytes rather than text */
  isBinary?: true | undefined;
  /** some alternatives are bytes */
  mayBeBinary?: true | undefined;
  /** the items of alternatives that are lists; read lazily, because a schema may contain itself */
  lists?: readonly (() => Facts)[] | undefined;
  /** the schema names no type, itself or by what it refers to or combines */
  isUntyped?: true | undefined;
  /** text that encodes bytes, and is sent as it is (`contentEncoding`) */
  isEncoded?: true | undefined;
  items?: (() => Facts) | undefined;
  /** constraints on unnamed members */
  values?: (() => Facts) | undefined;
  /** whether unnamed members are allowed explicitly */
  isOpen?: boolean | undefined;
  /** values may have the members of schemas that extend this one */
  isExtended?: true | undefined;
  exclusiveMinimum?: Numeric | undefined;
  exclusiveMaximum?: Numeric | undefined;
  multipleOf?: Numeric | undefined;
  minItems?: number | undefined;
  maxItems?: number | undefined;
  path?: string | undefined;
  /** read lazily, because a schema may contain itself */
  properties: ReadonlyMap<string, () => Facts>;
  required: ReadonlySet<string>;
}

export const anything: Facts = { properties: new Map(), required: new Set() };

/** @param isSure - whether all schemas apply (`allOf`). Otherwise only one does, and the result is what holds for each of them */
type Combine<Value> = (values: Value[], isSure: boolean) => Value | undefined;

const sameJson = (left: unknown, right: unknown): boolean => canonicalText(left) === canonicalText(right);
const unique = (values: unknown[]): unknown[] => [...new Map(values.map((value) => [canonicalText(value), value])).values()];
const commonValues = (left: readonly unknown[], right: readonly unknown[]) =>
  left.filter((value) => right.some((other) => sameJson(value, other)));
const union = (sets: ReadonlySet<string>[]): ReadonlySet<string> => new Set(sets.flatMap((set) => [...set]));
const intersection = (left: ReadonlySet<string>, right: ReadonlySet<string>) => new Set([...left].filter((item) => right.has(item)));

/** The first value if all schemas apply; otherwise the value that all share, if any. */
const shared = <T>(values: T[], isSure: boolean): T | undefined =>
  isSure || values.every((value) => value === values[0] || sameJson(value, values[0])) ? values[0] : undefined;

export const most = <T extends Numeric>(values: T[]): T => values.reduce((one, other) => (compareNumbers(one, other) >= 0 ? one : other));
export const least = <T extends Numeric>(values: T[]): T => values.reduce((one, other) => (compareNumbers(one, other) <= 0 ? one : other));
const lowerBound = <T extends Numeric>(values: T[], isSure: boolean): T => (isSure ? most : least)(values);
const upperBound = <T extends Numeric>(values: T[], isSure: boolean): T => (isSure ? least : most)(values);

type FactName = keyof Facts;
type FactValue<Name extends FactName> = NonNullable<Facts[Name]>;

const combinations: { readonly [Name in FactName]: Combine<FactValue<Name>> } = {
  types: (sets, isSure) => (isSure ? sets.reduce(commonTypes) : union(sets)),
  enum: (lists, isSure) => (isSure ? lists.reduce(commonValues) : unique(lists.flat())),
  minimum: lowerBound,
  maximum: upperBound,
  minLength: lowerBound,
  maxLength: upperBound,
  pattern: shared,
  format: shared,
  default: shared,
  description: shared,
  isReadOnly: shared,
  isWriteOnly: shared,
  isBinary: shared,
  mayBeBinary: shared,
  lists: ([lists]) => lists,
  isUntyped: shared,
  isEncoded: shared,
  items: combineReaders,
  values: combineReaders,
  isOpen: (all) => all.includes(true),
  isExtended: shared,
  exclusiveMinimum: lowerBound,
  exclusiveMaximum: upperBound,
  multipleOf: shared,
  minItems: lowerBound,
  maxItems: upperBound,
  path: ([path]) => path,
  properties: joinProperties,
  required: (sets, isSure) => (isSure ? union(sets) : sets.reduce(intersection)),
};

function combineReaders(readers: (() => Facts)[], isSure: boolean): () => Facts {
  return memoize(() =>
    combineAll(
      readers.map((read) => read()),
      isSure,
    ),
  );
}

/** An integer is also a number. */
function commonTypes(left: ReadonlySet<string>, right: ReadonlySet<string>): ReadonlySet<string> {
  const widen = (types: ReadonlySet<string>) => (types.has('number') ? union([types, new Set(['integer'])]) : types);
  const common = intersection(widen(left), widen(right));
  if (common.has('number')) common.delete('integer');
  return common;
}

function joinProperties(maps: Facts['properties'][]): Facts['properties'] {
  const members = maps.flatMap((map) => [...map]);
  const readers = Map.groupBy(members, ([name]) => name);
  return new Map([...readers].map(([name, found]) => [name, memoize(() => allOf(found.map(([, read]) => read())))]));
}

/** What a branch allows for a member that only others name; undefined if it names members itself and says nothing of further ones. */
const readUnnamed = ({ types, properties, values, isOpen }: Facts): (() => Facts) | undefined =>
  types?.has('object') === false ? undefined : (values ?? (isOpen || properties.size === 0 ? () => anything : undefined));

/** Members of alternatives. They keep their descriptions even where a branch that does not name them allows any value. */
function joinAlternatives(branches: readonly Facts[]): Facts['properties'] {
  const join = (name: string): Facts => {
    const named = oneOf(branches.flatMap(({ properties }) => properties.get(name)?.() ?? []));
    const unnamed = branches.flatMap((branch) => (branch.properties.has(name) ? [] : (readUnnamed(branch)?.() ?? [])));
    return unnamed.length === 0 ? named : { ...oneOf([named, ...unnamed]), description: named.description, path: named.path };
  };
  const names = new Set(branches.flatMap(({ properties }) => [...properties.keys()]));
  return new Map([...names].map((name) => [name, memoize(() => join(name))]));
}

/** Whether a branch allows values of every type, so that no member of another one has to be an object's. One that only requires members means objects. */
const isFree = ({ types, enum: allowed, required }: Facts): boolean => types === undefined && allowed === undefined && required.size === 0;

const isFreeObject = ({ types, properties, required }: Facts): boolean =>
  types?.has('object') === true && properties.size === 0 && required.size === 0;

function combine<Name extends FactName>(name: Name, all: readonly Facts[], isSure: boolean): Facts[Name] | undefined {
  const values = all.map((facts) => facts[name]).filter((value) => value !== undefined) as FactValue<Name>[];
  const isSaid = values.length > 0 && (isSure || values.length === all.length);
  return isSaid ? combinations[name](values, isSure) : undefined;
}

function combineAll(all: readonly Facts[], isSure: boolean): Facts {
  if (all.length < 2) return all[0] ?? anything;
  const combined = Object.keys(combinations).map((name) => [name, combine(name as FactName, all, isSure)]);
  const facts: Facts = { ...anything, ...Object.fromEntries(combined) };
  if (isSure) return facts;
  return {
    ...facts,
    isOpen: facts.isOpen || all.some(isFreeObject),
    properties: all.some(isFree) ? anything.properties : joinAlternatives(all),
  };
}

export const allOf = (parts: readonly Facts[]): Facts => combineAll(parts, true);

/** The facts that hold for every branch of `oneOf` or `anyOf`. */
export const oneOf = (branches: readonly Facts[]): Facts => combineAll(branches, false);
