import type { ConstraintName, ConstraintValue } from '../../../schemas/parameter.ts';

export type Constraints = { [Name in ConstraintName]?: ConstraintValue<Name> | undefined };

/** What a schema says of the values at one place, once its references and combinations are worked out. */
export interface Facts {
  /** JSON types that a value may have; undefined: any */
  types?: ReadonlySet<string> | undefined;
  constraints: Constraints;
  default?: unknown;
  description?: string | undefined;
  isReadOnly?: boolean | undefined;
  isWriteOnly?: boolean | undefined;
  /** where it is written, as a JSON pointer */
  path?: string | undefined;
  /** read when they are asked for, since a schema may hold itself */
  properties: ReadonlyMap<string, () => Facts>;
  required: ReadonlySet<string>;
}

export const anything: Facts = { constraints: {}, properties: new Map(), required: new Set() };

/** How the values of one constraint are combined. */
interface Combination<Value> {
  /** what holds where both hold */
  both: (left: Value, right: Value) => Value;
  /** what surely holds where one of them holds, if anything does */
  either: (values: Value[]) => Value | undefined;
}

const sameJson = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);
const unique = (values: unknown[]): unknown[] => [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];

/** The value that all share. */
const agreed = <T>(values: T[]): T | undefined => (values.every((value) => value === values[0]) ? values[0] : undefined);

const lowerBound: Combination<number> = { both: Math.max, either: (values) => Math.min(...values) };
const upperBound: Combination<number> = { both: Math.min, either: (values) => Math.max(...values) };

const combinations: { readonly [Name in ConstraintName]: Combination<ConstraintValue<Name>> } = {
  enum: {
    both: (left, right) => left.filter((value) => right.some((other) => sameJson(value, other))),
    either: (lists) => unique(lists.flat()),
  },
  minimum: lowerBound,
  maximum: upperBound,
  minLength: lowerBound,
  maxLength: upperBound,
  pattern: { both: (left) => left, either: agreed },
  format: { both: (left) => left, either: agreed },
};

/** @param isSure - whether all of the sets hold, or only one of them does: then a constraint that not all have says nothing */
function combine<Name extends ConstraintName>(name: Name, sets: readonly Constraints[], isSure: boolean): Constraints[Name] {
  const { both, either }: Combination<ConstraintValue<Name>> = combinations[name];
  const values = sets.map((set) => set[name]).filter((value) => value !== undefined) as ConstraintValue<Name>[];
  if (values.length === 0 || (!isSure && values.length < sets.length)) return undefined;
  return isSure ? values.reduce((left, right) => both(left, right)) : either(values);
}

const combineAll = (sets: readonly Constraints[], isSure: boolean): Constraints =>
  Object.fromEntries(Object.keys(combinations).map((name) => [name, combine(name as ConstraintName, sets, isSure)]));

const union = (a: ReadonlySet<string>, b: ReadonlySet<string>): Set<string> => new Set([...a, ...b]);
const intersection = (a: ReadonlySet<string>, b: ReadonlySet<string>): Set<string> => new Set([...a].filter((item) => b.has(item)));

/** Works a value out at most once, when it is first asked for. */
export function once<T>(work: () => T): () => T {
  let known: { value: T } | undefined;
  return () => {
    known ??= { value: work() };
    return known.value;
  };
}

/** An integer is a number. */
function commonTypes(left: ReadonlySet<string>, right: ReadonlySet<string>): Set<string> {
  const [a, b] = [left, right].map((types) => (types.has('number') ? new Set([...types, 'integer']) : types)) as [Set<string>, Set<string>];
  const common = intersection(a, b);
  if (common.has('number')) common.delete('integer');
  return common;
}

/** What holds where both hold (`allOf`). */
export function both(left: Facts, right: Facts): Facts {
  const properties = new Map(left.properties);
  for (const [name, read] of right.properties) {
    const other = properties.get(name);
    properties.set(name, other === undefined ? read : once(() => both(other(), read())));
  }
  return {
    types: left.types && right.types ? commonTypes(left.types, right.types) : (left.types ?? right.types),
    constraints: combineAll([left.constraints, right.constraints], true),
    default: left.default ?? right.default,
    description: left.description ?? right.description,
    isReadOnly: left.isReadOnly || right.isReadOnly,
    isWriteOnly: left.isWriteOnly || right.isWriteOnly,
    path: left.path ?? right.path,
    properties,
    required: union(left.required, right.required),
  };
}

/** What surely holds where one of them holds (`oneOf`, `anyOf`). */
export function either(branches: readonly Facts[]): Facts {
  const [first, ...others] = branches;
  if (first === undefined) return anything;
  if (others.length === 0) return first;
  const names = new Set(branches.flatMap(({ properties }) => [...properties.keys()]));
  const readers = (name: string) => branches.flatMap(({ properties }) => properties.get(name) ?? []);
  return {
    types: branches.every(({ types }) => types) ? new Set(branches.flatMap(({ types }) => [...(types ?? [])])) : undefined,
    constraints: combineAll(
      branches.map(({ constraints }) => constraints),
      false,
    ),
    default: agreed(branches.map((branch) => branch.default)),
    description: agreed(branches.map(({ description }) => description)),
    isReadOnly: branches.every(({ isReadOnly }) => isReadOnly),
    isWriteOnly: branches.every(({ isWriteOnly }) => isWriteOnly),
    path: branches.find(({ path }) => path !== undefined)?.path,
    properties: new Map([...names].map((name) => [name, once(() => either(readers(name).map((read) => read())))])),
    required: others.reduce((common, { required }) => intersection(common, required), first.required),
  };
}
