import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../components/controls.tsx';
import { Shown } from '../components/text.tsx';
import type { Completion } from './policy-text.ts';

interface EditorProps {
  label: string;
  text: string;
  /** by line, counted from 1 */
  problems: ReadonlyMap<number, readonly string[]>;
  complete(text: string, cursor: number, isAsked: boolean): Completion | undefined;
  onText(text: string): void;
}

/** A field for code, with line numbers, problems beside their lines, and completion. */
export function Editor({ label, text, problems, complete, onText }: EditorProps) {
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const lines = useRef<HTMLPreElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [completion, setCompletion] = useState<Completion & { chosen: number }>();
  useLayoutEffect(() => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' }), [completion]);
  const suggest = ({ value, selectionStart }: HTMLTextAreaElement, isAsked = false) => {
    const suggested = complete(value, selectionStart, isAsked);
    setCompletion(suggested && { ...suggested, chosen: 0 });
  };
  const accept = ({ from, to, options }: Completion, at: number) => {
    field.current?.focus();
    field.current?.setSelectionRange(from, to);
    // unlike an assignment, it can be undone
    document.execCommand('insertText', false, options[at]?.inserted);
  };
  const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }) => {
    const { key, ctrlKey, currentTarget } = event;
    if (key === ' ' && ctrlKey) suggest(currentTarget, true);
    else if (!completion) return;
    else {
      const { chosen, options } = completion;
      const next = { ArrowDown: chosen + 1, ArrowUp: chosen - 1 + options.length }[key];
      if (next !== undefined) setCompletion({ ...completion, chosen: next % options.length });
      else if (key === 'Enter') accept(completion, chosen);
      else if (/^(Escape|Arrow|Home|End|Page)/.test(key)) return setCompletion(undefined);
      else return;
    }
    event.preventDefault();
  };
  const goTo = (line: number) => {
    const before = text.split('\n').slice(0, line);
    const end = before.join('\n').length;
    field.current?.focus();
    field.current?.setSelectionRange(end - (before.at(-1) ?? '').length, end);
    lines.current?.children[line - 1]?.scrollIntoView({ block: 'nearest' });
  };
  const above = text.slice(0, completion?.from).split('\n');
  return (
    <div class="field wide">
      <label for={id}>{label}</label>
      <div class="editor">
        <pre ref={lines} aria-hidden="true">
          {text.split('\n').map((line, at) => (
            <span key={at} class={problems.has(at + 1) ? 'bad' : undefined}>
              {line} <em>{problems.get(at + 1)?.join('; ')}</em>
            </span>
          ))}
        </pre>
        <textarea
          ref={field}
          id={id}
          value={text}
          wrap="off"
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          aria-invalid={problems.size > 0}
          aria-describedby={`${id}-hint ${id}-problems`}
          aria-autocomplete="list"
          aria-controls={completion && `${id}-list`}
          aria-activedescendant={completion && `${id}-${completion.chosen}`}
          onInput={({ currentTarget }) => {
            onText(currentTarget.value);
            suggest(currentTarget);
          }}
          onKeyDown={onKeyDown}
          onBlur={() => setCompletion(undefined)}
          onClick={() => setCompletion(undefined)}
        />
        {completion && (
          <div
            ref={list}
            id={`${id}-list`}
            role="listbox"
            aria-label="Suggestions"
            style={`--line: ${above.length}; --column: ${above.at(-1)?.length}`}
          >
            {completion.options.map(({ name, meaning }, at) => (
              <div
                key={name}
                id={`${id}-${at}`}
                role="option"
                tabIndex={-1}
                aria-selected={at === completion.chosen}
                // the field keeps the focus
                onMouseDown={(event) => {
                  event.preventDefault();
                  accept(completion, at);
                }}
              >
                <code>{name}</code> <span class="quiet">{meaning}</span>
              </div>
            ))}
          </div>
        )}
      </div>
      <p id={`${id}-hint`} class="hint">
        Ctrl+Space suggests names and terms. Choose with the arrow keys and Enter; Escape closes the list.
      </p>
      <ul id={`${id}-problems`} class="problem" aria-live="polite">
        {[...problems].map(([line, some]) => (
          <li key={line}>
            <Button title={`Line ${line}`} kind="bare link" onClick={() => goTo(line)} /> <Shown text={some.join('; ')} />
          </li>
        ))}
      </ul>
    </div>
  );
}
