import { Button } from './components/controls.tsx';
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
  const { sentences, changes, answer } = asked;
  return (
    <Dialog title="Accept the usage policy?" onClose={() => answer(false)}>
      <Items title="It has changed since you accepted it:" texts={changes} />
      <Items title={changes.length > 0 ? 'It now says:' : ''} texts={sentences} />
      <p class="quiet">Your browser signs it with a key that never leaves this page. Nothing is signed unless you accept.</p>
      <p class="buttons">
        <Button title="Decline" onClick={() => answer(false)} />
        <Button title="Accept" kind="main" onClick={() => answer(true)} />
      </p>
    </Dialog>
  );
}
