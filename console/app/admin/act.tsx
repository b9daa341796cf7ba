import { useState } from 'preact/hooks';
import { Button } from '../components/controls.tsx';
import { Failure } from '../components/states.tsx';
import { Shown } from '../components/text.tsx';
import { Command } from './record-form.tsx';

interface ActProps {
  title: string;
  /** asks for confirmation */
  isDangerous?: boolean;
  /** what it asks; default: the title */
  question?: string;
  /** the equivalent command after `npx intent-gate` */
  command: string;
  /** performs the action; resolves to false if it was not performed after all */
  act(): Promise<unknown>;
  onDone?(): void;
}

/** A button for a change. It reports the result and shows the equivalent command. */
export function Act({ title, isDangerous = false, question = `${title}?`, command, act, onDone }: ActProps) {
  const [state, setState] = useState<'idle' | 'asked' | 'running'>('idle');
  const [failure, setFailure] = useState<unknown>();
  const run = async () => {
    setState('running');
    setFailure(undefined);
    try {
      if ((await act()) !== false) onDone?.();
    } catch (error) {
      setFailure(error);
    }
    setState('idle');
  };
  return (
    <>
      <p class="buttons">
        {state === 'asked' ? (
          <>
            <span>
              <Shown text={question} />
            </span>
            <Button title="Yes" kind="danger" onClick={() => void run()} />
            <Button title="No" onClick={() => setState('idle')} />
          </>
        ) : (
          <Button
            title={title}
            kind={isDangerous ? 'danger' : 'main'}
            isBusy={state === 'running'}
            onClick={() => (isDangerous ? setState('asked') : void run())}
          />
        )}
      </p>
      <Failure error={failure} />
      <Command text={command} />
    </>
  );
}
