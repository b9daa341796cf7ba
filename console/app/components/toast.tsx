import { openStore, useStore } from '../store.ts';
import { Button } from './controls.tsx';

/** How long a toast is shown, in milliseconds. */
const shownMs = 6_000;

const toasts = openStore<{ id: number; text: string }[]>([]);
let count = 0;

const dismiss = (id: number) => toasts.set(toasts.get().filter((toast) => toast.id !== id));

/** Shows a message in a corner. */
export function showToast(text: string): void {
  const id = count++;
  toasts.set([...toasts.get().slice(-2), { id, text }]);
  setTimeout(() => dismiss(id), shownMs);
}

export const Toasts = () => (
  <div class="toasts" role="status">
    {useStore(toasts).map(({ id, text }) => (
      <p key={id}>
        {text} <Button title="Dismiss" kind="bare" onClick={() => dismiss(id)} />
      </p>
    ))}
  </div>
);
