import { ApiError } from '../api-error.ts';
import type { Condition } from '../table/expression.ts';
import { type Key, keys } from '../table/keys.ts';
import type { Item, Write } from '../table/table.ts';

/** The most that may be registered in one namespace, so that its admins cannot fill the registry. */
export interface NamespaceLimits {
  services: number;
  /** drafts included */
  intents: number;
}

export const usualLimits: NamespaceLimits = { services: 1_000, intents: 20_000 };

/** How much more stands in a namespace after a change: less if negative. */
export type Growth = Partial<NamespaceLimits>;

/** The item that counts a namespace's services and intents; none for services that belong to no namespace. */
export const namespaceKeys = (namespace: string | undefined): Key[] => (namespace === undefined ? [] : [keys.namespace(namespace)]);

/**
 * The write that counts what a change adds to a namespace.
 * @param item - of the namespace, as it was read
 * @throws ApiError CONFLICT if that is more than it may hold
 */
export function countInNamespace(namespace: string | undefined, item: Item | undefined, growth: Growth, limits: NamespaceLimits): Write[] {
  const grown = Object.entries(growth).filter(([, more]) => more !== 0) as [keyof NamespaceLimits, number][];
  if (namespace === undefined || grown.length === 0) return [];
  const when = grown
    .filter(([, more]) => more > 0)
    .map(([what, more]): Condition => {
      const most = limits[what];
      if (Number(item?.[what] ?? 0) + more > most) throw isFull(what, most);
      return ['any', ['absent', what], ['<=', what, most - more]];
    });
  return [{ update: keys.namespace(namespace), add: grown, when }];
}

const isFull = (what: keyof NamespaceLimits, most: number) =>
  new ApiError('CONFLICT', `A namespace holds at most ${most} ${what}. Delete some, or ask the operators for a higher maxPerNamespace.`, {
    details: { reason: 'namespace_full', most },
  });
