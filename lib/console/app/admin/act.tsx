import { useState } from 'preact/hooks';
import { Failure, Shown } from '../parts.tsx';
import { Command } from './record-form.tsx';

interface ActProps {
  title: string;
  /** asks first */
  isDangerous?: boolean;
  /** the command that does the same */
  command: string;
  /** false if it was not done after all */
  act(): Promise<unknown>;
  onDone(): void;
}

/** A button that changes something, says what came of it, and shows the command that does the same. */
export function Act({ title, isDangerous = false, command, act, onDone }: ActProps) {
  const [state, setState] = useState<'idle' | 'asked' | 'running'>('idle');
  const [failure, setFailure] = useState<unknown>();
  const run = async () => {
    setState('running');
    setFailure(undefined);
    try {
      if ((await act()) !== false) onDone();
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
              <Shown text={`${title}?`} />
            </span>
            <button type="button" class="danger" onClick={() => void run()}>
              Yes
            </button>
            <button type="button" onClick={() => setState('idle')}>
              No
            </button>
          </>
        ) : (
          <button
            type="button"
            class={isDangerous ? 'danger' : ''}
            aria-busy={state === 'running'}
            onClick={() => (isDangerous ? setState('asked') : void run())}
          >
            {title}
          </button>
        )}
      </p>
      <Failure error={failure} />
      <Command text={command} />
    </>
  );
}
