import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Shown } from './text.tsx';

interface DialogProps {
  title: string;
  /** `panel`: as high as the page, at its side */
  kind?: 'panel';
  /** whether it stays open, also on Escape */
  isBusy?: boolean;
  /** called on Escape */
  onClose(): void;
  children: ComponentChildren;
}

/** A modal dialog, open while it is mounted. Its first field or button has the focus, which then returns to where it was. */
export function Dialog({ title, kind, isBusy = false, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const { current } = dialog;
    current?.showModal();
    current?.querySelector<HTMLElement>('input, .buttons button')?.focus();
    return () => current?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={kind}
      aria-labelledby={titleId}
      // not once it is unmounted, which closes it too
      onClose={({ currentTarget }) => currentTarget.isConnected && (isBusy ? currentTarget.showModal() : onClose())}
      // a key that is held down must not confirm what it has opened
      onKeyDown={(event) => event.repeat && event.key === 'Enter' && event.preventDefault()}
    >
      <h2 id={titleId}>
        <Shown text={title} />
      </h2>
      {children}
    </dialog>
  );
}
