import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../components/controls.tsx';
import { Command } from '../components/copyable.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Failure } from '../components/states.tsx';
import { session } from '../session.ts';
import { useStore } from '../store.ts';

interface Action {
  title: string;
  /** title of the dialog that asks for confirmation; default: the title */
  question?: string;
  /** performs the action; resolves to false if it was not performed after all */
  act(): Promise<unknown>;
  onDone?(): void;
}

function useAct({ act, onDone }: Action) {
  const [isRunning, setRunning] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const run = async () => {
    setRunning(true);
    setFailure(undefined);
    try {
      if ((await act()) !== false) onDone?.();
    } catch (error) {
      setFailure(error);
      return false;
    } finally {
      setRunning(false);
    }
    return true;
  };
  return { isRunning, failure, run };
}

/** Asks for confirmation, and stays open while the action is running, or if it fails. */
export function Confirm({ children, onClose, ...action }: Action & { children?: ComponentChildren; onClose(): void }) {
  const { title, question = `${title}?` } = action;
  const { isRunning, failure, run } = useAct(action);
  // an action may wait until its person has signed in again, beside the dialog
  const hasSession = useStore(session)?.tokens !== undefined;
  const isBusy = isRunning && hasSession;
  return (
    <Dialog title={question} isBusy={isBusy} onClose={onClose}>
      {children}
      <Failure error={failure} />
      <p class="buttons">
        <Button title={title} kind="danger" isBusy={isRunning} onClick={async () => (await run()) && onClose()} />
        <Button title="Cancel" isDisabled={isBusy} onClick={onClose} />
      </p>
    </Dialog>
  );
}

interface ActProps extends Action {
  /** asks for confirmation */
  isDangerous?: boolean;
  isDisabled?: boolean;
  /** the equivalent command after `npx intent-gate` */
  command: string;
}

/** A button for a change. It reports a failure and shows the equivalent command. */
export function Act({ isDangerous = false, isDisabled = false, command, ...action }: ActProps) {
  const { title } = action;
  const { isRunning, failure, run } = useAct(action);
  const [isAsked, setAsked] = useState(false);
  const button = useRef<HTMLParagraphElement>(null);
  // if the change removes the button, the heading gets its focus
  useLayoutEffect(() => () => void (button.current?.contains(document.activeElement) && document.querySelector('h1')?.focus()), []);
  return (
    <>
      <p class="buttons" ref={button}>
        <Button
          title={title}
          kind={isDangerous ? 'danger' : 'main'}
          isBusy={isRunning}
          isDisabled={isDisabled}
          onClick={() => (isDangerous ? setAsked(true) : void run())}
        />
      </p>
      {isAsked && <Confirm {...action} onClose={() => setAsked(false)} />}
      <Failure error={failure} />
      <Command text={command} />
    </>
  );
}
