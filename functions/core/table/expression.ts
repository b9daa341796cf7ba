/** A path in an item: the name of a top-level member, or the names and indexes that lead to a nested one. */
export type Path = string | readonly [string, ...(string | number)[]];

/** A condition on an item; a missing item has no members. */
export type Condition =
  | readonly ['exists' | 'absent', Path]
  | readonly ['=' | '<' | '<=' | '>' | '>=' | 'lacks', Path, unknown]
  /** true if the set has fewer members than the number */
  | readonly ['fewer', Path, number]
  | readonly ['any', ...Condition[]];

/** A write takes effect only if all its conditions hold. */
export interface Conditional {
  when?: readonly Condition[];
}

/**
 * An update of an item as data, so that DynamoDB, the in-memory table and tests that omit conditions interpret it alike. Paths refer to the
 * item before the update; `undefined` members are ignored.
 */
export interface Update extends Conditional {
  set?: Readonly<Record<string, unknown>> | readonly (readonly [Path, unknown])[];
  /** sets members that the item does not have */
  setOnce?: Readonly<Record<string, unknown>>;
  /** sets `to` to the value at `from` */
  copy?: readonly (readonly [to: Path, from: Path])[];
  /** adds to numbers and sets; a missing top-level member starts as 0 or as an empty set */
  add?: readonly (readonly [Path, number | Set<string>])[];
  /** removes members from sets; a set that becomes empty is removed */
  take?: Readonly<Record<string, Set<string>>>;
  remove?: readonly string[];
}

export interface Compiled {
  ConditionExpression?: string;
  UpdateExpression?: string;
  ExpressionAttributeNames?: Record<string, string>;
  ExpressionAttributeValues?: Record<string, unknown>;
}

/** Placeholders for the names and values of one request, which never appear in its expressions. */
class Placeholders {
  readonly #names = new Map<string, string>();
  readonly #values: Record<string, unknown> = {};
  #valueCount = 0;

  name(name: string): string {
    const known = this.#names.get(name) ?? `#${this.#names.size}`;
    this.#names.set(name, known);
    return known;
  }

  path(path: Path): string {
    if (typeof path === 'string') return this.name(path);
    return path.map((step, at) => (typeof step === 'number' ? `[${step}]` : `${at > 0 ? '.' : ''}${this.name(step)}`)).join('');
  }

  value(value: unknown): string {
    const name = `:${this.#valueCount++}`;
    this.#values[name] = value;
    return name;
  }

  get all(): Pick<Compiled, 'ExpressionAttributeNames' | 'ExpressionAttributeValues'> {
    return {
      ...(this.#names.size > 0 && {
        ExpressionAttributeNames: Object.fromEntries([...this.#names].map(([name, placeholder]) => [placeholder, name])),
      }),
      ...(this.#valueCount > 0 && { ExpressionAttributeValues: this.#values }),
    };
  }
}

function writeCondition(condition: Condition, to: Placeholders): string {
  switch (condition[0]) {
    case 'exists':
      return `attribute_exists(${to.path(condition[1])})`;
    case 'absent':
      return `attribute_not_exists(${to.path(condition[1])})`;
    case 'lacks':
      return `NOT contains(${to.path(condition[1])}, ${to.value(condition[2])})`;
    case 'fewer':
      return `size(${to.path(condition[1])}) < ${to.value(condition[2])}`;
    case 'any': {
      const [, ...conditions] = condition;
      return `(${conditions.map((one) => writeCondition(one, to)).join(' OR ')})`;
    }
    default:
      return `${to.path(condition[1])} ${condition[0]} ${to.value(condition[2])}`;
  }
}

const writeConditions = (when: readonly Condition[] | undefined, to: Placeholders): Pick<Compiled, 'ConditionExpression'> =>
  when && when.length > 0 ? { ConditionExpression: when.map((condition) => writeCondition(condition, to)).join(' AND ') } : {};

/** Members by name or path, without those that are `undefined`. */
export const given = <P extends Path = string>(
  members: Readonly<Record<string, unknown>> | readonly (readonly [P, unknown])[] = {},
): (readonly [P | string, unknown])[] =>
  (Array.isArray(members) ? members : Object.entries(members)).filter(([, value]) => value !== undefined);

export function compileConditions({ when }: Conditional): Compiled {
  const to = new Placeholders();
  return { ...writeConditions(when, to), ...to.all };
}

export function compileUpdate({ set, setOnce, copy = [], add = [], take, remove = [], when }: Update): Compiled {
  const to = new Placeholders();
  // DynamoDB's ADD supports top-level members only
  const isOutermost = ([path, value]: readonly [Path, unknown]) => typeof path === 'string' || typeof value !== 'number';
  const clauses: [verb: string, changes: string[]][] = [
    [
      'SET',
      [
        ...given(set).map(([path, value]) => `${to.path(path)} = ${to.value(value)}`),
        ...given(setOnce).map(([name, value]) => `${to.name(name)} = if_not_exists(${to.name(name)}, ${to.value(value)})`),
        ...copy.map(([target, from]) => `${to.path(target)} = ${to.path(from)}`),
        ...add.filter((one) => !isOutermost(one)).map(([path, value]) => `${to.path(path)} = ${to.path(path)} + ${to.value(value)}`),
      ],
    ],
    ['ADD', add.filter(isOutermost).map(([path, value]) => `${to.path(path)} ${to.value(value)}`)],
    ['DELETE', given(take).map(([name, value]) => `${to.name(name)} ${to.value(value)}`)],
    ['REMOVE', remove.map((name) => to.name(name))],
  ];
  const conditions = writeConditions(when, to);
  return {
    UpdateExpression: clauses
      .filter(([, changes]) => changes.length > 0)
      .map(([verb, changes]) => `${verb} ${changes.join(', ')}`)
      .join(' '),
    ...conditions,
    ...to.all,
  };
}
