import { useEffect, useRef } from 'preact/hooks';
import { Button, Items } from './parts.tsx';
import { openStore, useStore } from './store.ts';

interface Question {
  sentences: string[];
  /** what has changed since it was accepted */
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
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (asked) dialog.current?.showModal();
  }, [asked]);
  if (!asked) return null;
  return (
    <dialog ref={dialog} aria-labelledby="consent-title" onCancel={() => asked.answer(false)}>
      <h2 id="consent-title">Do you accept the policy?</h2>
      <Items title="It has changed since you accepted it:" texts={asked.changes} />
      <Items title={asked.changes.length > 0 ? 'It now says:' : ''} texts={asked.sentences} />
      <p class="quiet">Your browser signs it with a key of this page, which never leaves it. Nothing is signed unless you accept.</p>
      <p class="buttons">
        <Button title="Accept" kind="main" onClick={() => asked.answer(true)} />
        <Button title="Decline" onClick={() => asked.answer(false)} />
      </p>
    </dialog>
  );
}
