import type { ConstraintName, ConstraintValue } from '../../../schemas/parameter.ts';

export type Constraints = { [Name in ConstraintName]?: ConstraintValue<Name> | undefined };

/** What a schema says about the values at one place, once its references and combinations are resolved. */
export interface Facts extends Constraints {
  /** JSON types that a value may have; undefined: any */
  types?: ReadonlySet<string> | undefined;
  default?: unknown;
  description?: string | undefined;
  isReadOnly?: true | undefined;
  isWriteOnly?: true | undefined;
  /** where it is written */
  path?: string | undefined;
  /** read on demand, since a schema may contain itself */
  properties: ReadonlyMap<string, () => Facts>;
  required: ReadonlySet<string>;
}

export const anything: Facts = { properties: new Map(), required: new Set() };

/** How the statements of several schemas are combined. */
interface Combination<Value> {
  /** what applies if both apply */
  both: (left: Value, right: Value) => Value;
  /** what certainly applies if one of them applies, if anything does */
  either: (values: Value[]) => Value | undefined;
}

const sameJson = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);
const unique = (values: unknown[]): unknown[] => [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
const union = (sets: ReadonlySet<string>[]): ReadonlySet<string> => new Set(sets.flatMap((set) => [...set]));
const intersection = (left: ReadonlySet<string>, right: ReadonlySet<string>) => new Set([...left].filter((item) => right.has(item)));

const first = <T>(left: T): T => left;
/** The value that all share. */
const agreed = <T>(values: T[]): T | undefined => (values.every((value) => value === values[0]) ? values[0] : undefined);

const lowerBound: Combination<number> = { both: Math.max, either: (values) => Math.min(...values) };
const upperBound: Combination<number> = { both: Math.min, either: (values) => Math.max(...values) };

type FactName = keyof Facts;
type FactValue<Name extends FactName> = NonNullable<Facts[Name]>;

const combinations: { readonly [Name in FactName]: Combination<FactValue<Name>> } = {
  types: { both: commonTypes, either: union },
  enum: {
    both: (left, right) => left.filter((value) => right.some((other) => sameJson(value, other))),
    either: (lists) => unique(lists.flat()),
  },
  minimum: lowerBound,
  maximum: upperBound,
  minLength: lowerBound,
  maxLength: upperBound,
  pattern: { both: first, either: agreed },
  format: { both: first, either: agreed },
  default: { both: first, either: agreed },
  description: { both: first, either: agreed },
  isReadOnly: { both: first, either: agreed },
  isWriteOnly: { both: first, either: agreed },
  path: { both: first, either: ([path]) => path },
  properties: {
    both: (left, right) => joinProperties([left, right], (members) => members.reduce(both)),
    either: (maps) => joinProperties(maps, either),
  },
  required: {
    both: (left, right) => union([left, right]),
    either: ([some = new Set<string>(), ...others]) => others.reduce(intersection, some),
  },
};

/** An integer is a number. */
function commonTypes(left: ReadonlySet<string>, right: ReadonlySet<string>): ReadonlySet<string> {
  const widen = (types: ReadonlySet<string>) => (types.has('number') ? union([types, new Set(['integer'])]) : types);
  const common = intersection(widen(left), widen(right));
  if (common.has('number')) common.delete('integer');
  return common;
}

/** Works a value out at most once, when it is first asked for. */
export function once<T>(work: () => T): () => T {
  let known: { value: T } | undefined;
  return () => {
    known ??= { value: work() };
    return known.value;
  };
}

function joinProperties(maps: Facts['properties'][], join: (members: Facts[]) => Facts): Facts['properties'] {
  const readers = Map.groupBy(
    maps.flatMap((map) => [...map]),
    ([name]) => name,
  );
  return new Map([...readers].map(([name, found]) => [name, once(() => join(found.map(([, read]) => read())))]));
}

/** @param isSure - whether all of them apply; if only one does, what not all of them say is dropped */
function combine<Name extends FactName>(name: Name, all: readonly Facts[], isSure: boolean): Facts[Name] | undefined {
  const combination: Combination<FactValue<Name>> = combinations[name];
  const values = all.map((facts) => facts[name]).filter((value) => value !== undefined) as FactValue<Name>[];
  if (values.length === 0 || (!isSure && values.length < all.length)) return undefined;
  return isSure ? values.reduce((left, right) => combination.both(left, right)) : combination.either(values);
}

const combineAll = (all: readonly Facts[], isSure: boolean): Facts => ({
  ...anything,
  ...Object.fromEntries(Object.keys(combinations).map((name) => [name, combine(name as FactName, all, isSure)])),
});

/** What applies if both apply (`allOf`). */
export const both = (left: Facts, right: Facts): Facts => combineAll([left, right], true);

/** What certainly applies if one of them applies (`oneOf`, `anyOf`). */
export const either = (branches: readonly Facts[]): Facts =>
  branches.length < 2 ? (branches[0] ?? anything) : combineAll(branches, false);
