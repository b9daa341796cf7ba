import type { Condition, Path } from '../../functions/core/table/expression.ts';
import type { Key } from '../../functions/core/table/keys.ts';

/** A write as far as it names its conditions. */
interface Asked {
  key: Key;
  verb: string;
  isInTransaction: boolean;
  when: readonly Condition[];
}

let observed = new Set<string>();
let omitted: string | undefined;

/** A path without what differs from item to item: the names of members in maps. */
const pathText = (path: Path): string =>
  typeof path === 'string' ? path : path.map((step, at) => (typeof step === 'number' ? `[${step}]` : at === 0 ? step : '.*')).join('');

/** A condition without its value. */
function textOf(condition: Condition): string {
  if (condition[0] === 'any')
    return condition
      .slice(1)
      .map((one) => textOf(one as Condition))
      .join(' or ');
  const [verb, path] = condition as Exclude<Condition, readonly ['any', ...Condition[]]>;
  return `${verb} ${pathText(path)}`;
}

/** The kind of a record: what its partition key begins with, and its sort key, if several kinds share partitions. */
const kindOf = ({ pk, sk }: Key): string => [pk.slice(0, pk.indexOf('#')), ...(/^[A-Z]+(?=#)/.exec(sk) ?? [])].join(' ');

/**
 * What is left of the conditions of a write. They are known by the kind of the record, the operation, their text without values and that of
 * the others beside them: those that agree in all of this are one condition, which is omitted in every place at once.
 */
export function asked({ key, verb, isInTransaction, when }: Asked): readonly Condition[] {
  const texts = when.map(textOf);
  const all = [...new Set(texts)].toSorted();
  const place = `${kindOf(key)} ${verb}${isInTransaction ? ' in a transaction' : ''}`;
  return when.filter((_, at) => {
    const others = all.filter((text) => text !== texts[at]);
    const id = `${place}: ${texts[at]}${others.length > 0 ? ` (beside ${others.join(', ')})` : ''}`;
    observed.add(id);
    return id !== omitted;
  });
}

/**
 * Runs something that uses the table in memory, without one condition if one is named.
 * @returns what came of it, and the ids of the conditions that were asked for
 */
export async function observing<T>(run: () => Promise<T>, without?: string): Promise<{ value: T; conditions: string[] }> {
  observed = new Set();
  omitted = without;
  try {
    const value = await run();
    return { value, conditions: [...observed] };
  } finally {
    omitted = undefined;
  }
}
