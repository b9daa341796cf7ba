const maxRemembered = 200;

/**
 * Caches the last results of `make` by its arguments. For Intl's objects: each takes tens of kilobytes that V8 does not count as its own,
 * so that they pile up long before they are collected.
 */
export function remember<A extends string[], T>(make: (...given: A) => T): (...given: A) => T {
  const made = new Map<string, T>();
  return (...given) => {
    const key = given.join(' ');
    const known = made.get(key) ?? make(...given);
    made.delete(key);
    made.set(key, known);
    const [oldest] = made.keys();
    if (made.size > maxRemembered && oldest !== undefined) made.delete(oldest);
    return known;
  };
}
