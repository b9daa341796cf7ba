import { ApiError } from '../runtime/api-error.ts';
import type { Condition } from '../table/expression.ts';
import { type Key, keys } from '../table/keys.ts';
import type { Item, Write } from '../table/table.ts';

/** Default maximum of services, and of intents including drafts, in one namespace. */
export const defaultMaxPerNamespace = 20_000;

/** Negative for removals. */
interface Growth {
  services?: number;
  /** including drafts */
  intents?: number;
}

export const namespaceKeys = (namespace: string | undefined): Key[] => (namespace === undefined ? [] : [keys.namespace(namespace)]);

/**
 * Counts what a change adds to a namespace.
 * @param item - of the namespace, as it was read
 * @param most - limit of services and of intents, so that the namespace's admins cannot fill the registry
 * @throws ApiError CONFLICT beyond the limit
 */
export function countInNamespace(namespace: string | undefined, item: Item | undefined, growth: Growth, most: number): Write[] {
  const grown = Object.entries(growth).filter(([, more]) => more !== 0) as [keyof Growth, number][];
  if (namespace === undefined || grown.length === 0) return [];
  const when = grown
    .filter(([, more]) => more > 0)
    .map(([what, more]): Condition => {
      if (Number(item?.[what] ?? 0) + more > most) throw isFull(what, most);
      return ['any', ['absent', what], ['<=', what, most - more]];
    });
  return [{ update: keys.namespace(namespace), add: grown, when }];
}

const isFull = (what: keyof Growth, most: number) =>
  new ApiError(
    'CONFLICT',
    `A namespace holds at most ${most} ${what}. Delete some, or ask the operators to raise the setting maxPerNamespace.`,
    { details: { reason: 'namespace_full', most } },
  );
