import { Button } from './components/button.tsx';
import { Dialog } from './components/dialog.tsx';
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
  if (!asked) return null;
  return (
    <Dialog title="Do you accept the policy?" onCancel={() => asked.answer(false)}>
      <Items title="It has changed since you accepted it:" texts={asked.changes} />
      <Items title={asked.changes.length > 0 ? 'It now says:' : ''} texts={asked.sentences} />
      <p class="quiet">Your browser signs it with a key that never leaves this page. Nothing is signed unless you accept.</p>
      <p class="buttons">
        <Button title="Decline" onClick={() => asked.answer(false)} />
        <Button title="Accept" kind="main" onClick={() => asked.answer(true)} />
      </p>
    </Dialog>
  );
}
