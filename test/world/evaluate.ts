import { type Condition, given, type Path, type Update } from '../../functions/core/table/expression.ts';

/** The values of a table's items, as the document client gives and takes them. */
export type Attributes = Record<string, unknown>;

const stepsOf = (path: Path): readonly (string | number)[] => (typeof path === 'string' ? [path] : path);

export const valueAt = (item: unknown, path: Path): unknown =>
  stepsOf(path).reduce<unknown>(
    (value, step) => (typeof value === 'object' && value !== null ? (value as Attributes)[step] : undefined),
    item,
  );

/** What holds the last step of a path. @throws Error, as the table does, if there is no such place */
function locate(item: Attributes, path: Path): [parent: Attributes, name: string | number] {
  const steps = stepsOf(path);
  const parent = steps.length === 1 ? item : valueAt(item, steps.slice(0, -1) as unknown as Path);
  if (typeof parent !== 'object' || parent === null) throw new Error(`The document path ${steps.join('.')} is not valid for update`);
  return [parent as Attributes, steps.at(-1) ?? ''];
}

const isSame = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);

/** Below 0, 0, above 0; `NaN` for values of different types, which have no order. */
function order(left: unknown, right: unknown): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  if (typeof left === 'string' && typeof right === 'string') return Buffer.compare(Buffer.from(left), Buffer.from(right));
  return Number.NaN;
}

const membersOf = (held: unknown): unknown[] =>
  typeof held === 'object' && held !== null && Symbol.iterator in held ? [...(held as Iterable<unknown>)] : [];

const isHeldIn = (held: unknown, member: unknown): boolean =>
  typeof held === 'string' ? held.includes(String(member)) : membersOf(held).some((one) => isSame(one, member));

/** Whether a condition holds for an item; an item that is not there has no attributes. */
export function holds(condition: Condition, item: Attributes): boolean {
  if (condition[0] === 'any') return condition.slice(1).some((one) => holds(one as Condition, item));
  const [verb, path, value] = condition as Exclude<Condition, readonly ['any', ...Condition[]]>;
  const held = valueAt(item, path);
  switch (verb) {
    case 'exists':
      return held !== undefined;
    case 'absent':
      return held === undefined;
    case '=':
      return isSame(held, value);
    case '<':
      return order(held, value) < 0;
    case '<=':
      return order(held, value) <= 0;
    case '>':
      return order(held, value) > 0;
    case '>=':
      return order(held, value) >= 0;
    case 'lacks':
      return !isHeldIn(held, value);
    case 'fewer':
      return held !== undefined && membersOf(held).length < Number(value);
  }
}

export const allHold = (when: readonly Condition[] | undefined, item: Attributes): boolean =>
  (when ?? []).every((condition) => holds(condition, item));

function plus(held: unknown, added: number | Set<string>, path: Path): unknown {
  if (typeof added !== 'number') return new Set([...((held as Set<string> | undefined) ?? []), ...added]);
  const before = held ?? (typeof path === 'string' ? 0 : undefined);
  if (typeof before !== 'number') throw new Error('An operand of an update is no number');
  return before + added;
}

/** What an update makes of an item. Every operand is read before anything is changed. */
export function applyUpdate(
  { set = {}, setOnce = {}, copy = [], add = [], take = {}, remove = [] }: Update,
  before: Attributes,
): Attributes {
  const item = structuredClone(before);
  const put = (path: Path, value: unknown): void => {
    const [parent, name] = locate(item, path);
    if (value === undefined) throw new Error('An operand of an update is not there');
    parent[name] = structuredClone(value);
  };
  for (const [path, value] of given(set)) put(path, value);
  for (const [name, value] of given(setOnce)) put(name, before[name] ?? value);
  for (const [to, from] of copy) put(to, valueAt(before, from));
  for (const [path, value] of add) put(path, plus(valueAt(before, path), value, path));
  for (const [name, taken] of Object.entries(take)) {
    const left = new Set(membersOf(before[name]).filter((member) => !taken.has(String(member))));
    if (left.size > 0) item[name] = left;
    else delete item[name];
  }
  for (const name of remove) delete item[name];
  return item;
}
