/** The constraints of a schema that a parameter can carry. */
interface Bounds {
  minimum?: number | undefined;
  maximum?: number | undefined;
  minLength?: number | undefined;
  maxLength?: number | undefined;
}

/** What a schema says of the values at one place, once its references and combinations are worked out. */
export interface Facts extends Bounds {
  /** JSON types that a value may have; undefined: any */
  types?: ReadonlySet<string> | undefined;
  enum?: readonly unknown[] | undefined;
  pattern?: string | undefined;
  format?: string | undefined;
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

export const anything: Facts = { properties: new Map(), required: new Set() };

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

const isDefined = <T>(value: T | undefined): value is T => value !== undefined;

const least = (...values: (number | undefined)[]) => (values.some(isDefined) ? Math.min(...values.filter(isDefined)) : undefined);
const greatest = (...values: (number | undefined)[]) => (values.some(isDefined) ? Math.max(...values.filter(isDefined)) : undefined);

const sameJson = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);

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
    enum:
      left.enum && right.enum
        ? left.enum.filter((value) => right.enum?.some((other) => sameJson(value, other)))
        : (left.enum ?? right.enum),
    minimum: greatest(left.minimum, right.minimum),
    maximum: least(left.maximum, right.maximum),
    minLength: greatest(left.minLength, right.minLength),
    maxLength: least(left.maxLength, right.maxLength),
    pattern: left.pattern ?? right.pattern,
    format: left.format ?? right.format,
    default: left.default ?? right.default,
    description: left.description ?? right.description,
    isReadOnly: left.isReadOnly || right.isReadOnly,
    isWriteOnly: left.isWriteOnly || right.isWriteOnly,
    path: left.path ?? right.path,
    properties,
    required: union(left.required, right.required),
  };
}

/** The value that all share. */
const agreed = <T>(values: (T | undefined)[]): T | undefined => (values.every((value) => value === values[0]) ? values[0] : undefined);

/** Of bounds that not all have, none holds for all. */
const loosest = (pick: typeof least, values: (number | undefined)[]) => (values.every(isDefined) ? pick(...values) : undefined);

const unique = (values: unknown[]): unknown[] => [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];

/** What surely holds where one of them holds (`oneOf`, `anyOf`). */
export function either(branches: readonly Facts[]): Facts {
  const [first, ...others] = branches;
  if (first === undefined) return anything;
  if (others.length === 0) return first;
  const names = new Set(branches.flatMap(({ properties }) => [...properties.keys()]));
  const readers = (name: string) => branches.map(({ properties }) => properties.get(name)).filter(isDefined);
  return {
    types: branches.every(({ types }) => types) ? new Set(branches.flatMap(({ types }) => [...(types ?? [])])) : undefined,
    enum: branches.every((branch) => branch.enum) ? unique(branches.flatMap((branch) => branch.enum ?? [])) : undefined,
    minimum: loosest(
      least,
      branches.map(({ minimum }) => minimum),
    ),
    maximum: loosest(
      greatest,
      branches.map(({ maximum }) => maximum),
    ),
    minLength: loosest(
      least,
      branches.map(({ minLength }) => minLength),
    ),
    maxLength: loosest(
      greatest,
      branches.map(({ maxLength }) => maxLength),
    ),
    pattern: agreed(branches.map(({ pattern }) => pattern)),
    format: agreed(branches.map(({ format }) => format)),
    default: agreed(branches.map((branch) => branch.default)),
    description: agreed(branches.map(({ description }) => description)),
    isReadOnly: branches.every(({ isReadOnly }) => isReadOnly),
    isWriteOnly: branches.every(({ isWriteOnly }) => isWriteOnly),
    path: branches.find(({ path }) => path !== undefined)?.path,
    properties: new Map([...names].map((name) => [name, once(() => either(readers(name).map((read) => read())))])),
    required: others.reduce((common, { required }) => intersection(common, required), first.required),
  };
}
