import { useEffect, useRef } from 'preact/hooks';
import { Button } from './components/controls.tsx';
import { Items } from './components/text.tsx';
import { openStore, useStore } from './store.ts';

interface Question {
  sentences: string[];
  /** changes since the policy was accepted */
  changes: string[];
  answer(isAccepted: boolean): void;
}

const question = openStore<Question | undefined>(undefined);

export const askConsent = (sentences: string[], changes: string[] = []): Promise<boolean> =>
  new Promise((resolve) =>
    question.set({
      sentences,
      changes,
      answer: (isAccepted) => {
        question.set(undefined);
        resolve(isAccepted);
      },
    }),
  );

export function Consent() {
  const asked = useStore(question);
  return asked ? <Dialog {...asked} /> : null;
}

/** A modal dialog, open while it is mounted. Escape declines; closing restores the focus. */
function Dialog({ sentences, changes, answer }: Question) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="consent-title"
      onCancel={(event) => {
        event.preventDefault();
        answer(false);
      }}
    >
      <h2 id="consent-title">Accept the usage policy?</h2>
      <Items title="It has changed since you accepted it:" texts={changes} />
      <Items title={changes.length > 0 ? 'It now says:' : ''} texts={sentences} />
      <p class="quiet">Your browser signs it with a key that never leaves this page. Nothing is signed unless you accept.</p>
      <p class="buttons">
        <Button title="Decline" onClick={() => answer(false)} />
        <Button title="Accept" kind="main" onClick={() => answer(true)} />
      </p>
    </dialog>
  );
}
