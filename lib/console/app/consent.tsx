import { useEffect, useRef } from 'preact/hooks';
import { Shown } from './parts.tsx';
import { openStore, useStore } from './store.ts';

interface Question {
  sentences: string[];
  /** what has changed since it was accepted */
  changes: string[];
  answer(isAccepted: boolean): void;
}

const question = openStore<Question | undefined>(undefined);

/** Shows the policy, and asks whether it is accepted. */
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

/** The policy, in a dialog over the page. */
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
      {asked.changes.length > 0 && (
        <>
          <p>It has changed since you accepted it:</p>
          <Sentences sentences={asked.changes} />
        </>
      )}
      <Sentences sentences={asked.sentences} />
      <p class="quiet">Your browser signs it with a key of this page, which never leaves it. Nothing is signed unless you accept.</p>
      <p class="buttons">
        <button type="button" class="main" onClick={() => asked.answer(true)}>
          Accept and run
        </button>
        <button type="button" onClick={() => asked.answer(false)}>
          Do not accept
        </button>
      </p>
    </dialog>
  );
}

/** Sentences of a policy. */
export const Sentences = ({ sentences }: { sentences: readonly string[] }) => (
  <ul class="sentences">
    {sentences.map((sentence) => (
      <li key={sentence}>
        <Shown text={sentence} />
      </li>
    ))}
  </ul>
);
