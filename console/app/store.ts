import { useLayoutEffect, useState } from 'preact/hooks';
import { parseExact } from '../../schemas/number.ts';

/** A value shared by several views. */
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
  // a layout effect, because an effect after painting would miss changes in between
  useLayoutEffect(() => store.subscribe(() => redraw({})), [store]);
  return store.get();
}

/** Reads a value kept until the tab is closed, or in `localStorage` for longer. Never keep secrets: other pages of this origin could read them. */
export function readKept<T>(name: string, otherwise: T, place: 'sessionStorage' | 'localStorage' = 'sessionStorage'): T {
  try {
    const kept = window[place].getItem(name);
    return kept === null ? otherwise : (parseExact(kept) as T);
  } catch {
    return otherwise;
  }
}

/** Keeps a value for `readKept`, unless storage is full or disabled. */
export function keep(name: string, value: unknown, place: 'sessionStorage' | 'localStorage' = 'sessionStorage'): void {
  try {
    if (value === undefined) window[place].removeItem(name);
    else window[place].setItem(name, JSON.stringify(value));
  } catch {
    // the page works without storage
  }
}

/** A state for user input that survives reloads and sign-ins. The initial value is not stored. */
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
