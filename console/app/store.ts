import { useLayoutEffect, useState } from 'preact/hooks';
import { parseExact } from '../../schemas/number.ts';

/** A value that several views show. */
export interface Store<T> {
  get(): T;
  set(value: T): void;
  subscribe(listener: () => void): () => void;
}

export function openStore<T>(initial: T): Store<T> {
  const listeners = new Set<() => void>();
  let current = initial;
  return {
    get: () => current,
    set: (value) => {
      current = value;
      for (const listener of listeners) listener();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useStore<T>(store: Store<T>): T {
  const [, redraw] = useState({});
  // an effect that comes after drawing would miss what changes in between
  useLayoutEffect(() => store.subscribe(() => redraw({})), [store]);
  return store.get();
}

/** A value that the tab keeps until it is closed. Never a secret: other pages of this origin could read it. */
export function readKept<T>(name: string, otherwise: T): T {
  try {
    const kept = sessionStorage.getItem(name);
    return kept === null ? otherwise : (parseExact(kept) as T);
  } catch {
    return otherwise;
  }
}

/** Without room, or where storage is turned off, nothing is kept. */
export function keep(name: string, value: unknown): void {
  try {
    if (value === undefined) sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, JSON.stringify(value));
  } catch {
    // the page works without it
  }
}

/** A state that outlives a reload and a sign-in: what somebody has typed. What it begins with is not kept. */
export function useDraft<T>(name: string, initial: T): [T, (value: T) => void] {
  const [value, setValue] = useState<T>(() => readKept(name, initial));
  return [
    value,
    (next) => {
      setValue(next);
      keep(name, next === initial ? undefined : next);
    },
  ];
}
