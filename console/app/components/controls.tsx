import type { ComponentChildren, InputHTMLAttributes } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Issue } from '../../../schemas/errors.ts';
import { deployment } from '../deployment.ts';
import { beginSignIn } from '../session.ts';

interface ButtonProps {
  title: ComponentChildren;
  onClick(): void;
  /** `main`, `danger`, `plain` (smaller) or `tag` */
  kind?: string;
  /** accessible name; default: the title */
  label?: string;
  isDisabled?: boolean;
  isBusy?: boolean;
  isPressed?: boolean;
}

export const Button = ({ title, kind, label, isDisabled = false, isBusy, isPressed, onClick }: ButtonProps) => (
  <button
    type="button"
    class={kind}
    aria-label={label}
    aria-busy={isBusy}
    aria-pressed={isPressed}
    disabled={isDisabled}
    onClick={() => isBusy || onClick()}
  >
    {title}
  </button>
);

interface SubmitFormProps {
  title: string;
  /** shown instead of the title while the form is being sent */
  busyTitle?: string;
  isBusy: boolean;
  isDisabled?: boolean;
  /** when these change, the first invalid field gets the focus */
  issues?: readonly Issue[];
  onSubmit(): void;
  /** beside the button */
  note?: ComponentChildren;
  children: ComponentChildren;
}

/** A form with a submit button. */
export function SubmitForm({ title, busyTitle = title, isBusy, isDisabled = false, issues, onSubmit, note, children }: SubmitFormProps) {
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), [issues]);
  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy) onSubmit();
      }}
    >
      {children}
      <p class="buttons">
        <button type="submit" class="main" disabled={isDisabled} aria-busy={isBusy}>
          {isBusy ? busyTitle : title}
        </button>
        {note}
      </p>
    </form>
  );
}

/** The first items, and a button that shows the others. */
export function useFirst<T>(items: readonly T[], count = 50): [shown: readonly T[], more: ComponentChildren] {
  const [isAll, setAll] = useState(false);
  const left = isAll ? 0 : items.length - count;
  const more = left > 0 && <Button title={`Show ${left} more`} kind="plain" onClick={() => setAll(true)} />;
  return [items.slice(0, isAll ? undefined : count), more];
}

interface FoldProps {
  summary: ComponentChildren;
  /** unfolds it */
  isOpen?: boolean;
  id?: string;
  class?: string;
  children(): ComponentChildren;
}

/** Renders its content only once unfolded, because there may be a lot of it. */
export function Fold({ summary, isOpen = false, children, ...rest }: FoldProps) {
  const [isUnfolded, setUnfolded] = useState(isOpen);
  useEffect(() => {
    if (isOpen) setUnfolded(true);
  }, [isOpen]);
  return (
    <details {...rest} open={isUnfolded} onToggle={({ currentTarget }) => setUnfolded(currentTarget.open)}>
      <summary>{summary}</summary>
      {isUnfolded && children()}
    </details>
  );
}

interface ChoiceProps {
  label: string;
  /** text of the first entry, which means no choice */
  none: string;
  /** values, or pairs of values and texts */
  options: readonly (string | readonly [value: string, text: string])[];
  value: string;
  onChoose(value: string): void;
}

/** A drop-down in a toolbar. */
export const Choice = ({ label, none, options, value, onChoose }: ChoiceProps) => (
  <select aria-label={label} value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
    <option value="">{none}</option>
    {options.map((option) => {
      const [given, text] = typeof option === 'string' ? [option, option] : option;
      return (
        <option key={given} value={given}>
          {text}
        </option>
      );
    })}
  </select>
);

type SearchBoxProps = { label: string } & Pick<InputHTMLAttributes<HTMLInputElement>, 'placeholder' | 'value' | 'onInput' | 'onChange'>;

/** A search field in a toolbar, whose label is inside it. */
export const SearchBox = ({ label, ...rest }: SearchBoxProps) => <input type="search" aria-label={label} placeholder={label} {...rest} />;

/** A field for words, and which texts have all of them. */
export function useFilter(label: string, onFilter?: () => void) {
  const [filter, setFilter] = useState('');
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const onInput = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
    setFilter(currentTarget.value);
    onFilter?.();
  };
  return {
    isFiltering: words.length > 0,
    matches: (text: string) => words.every((word) => text.toLowerCase().includes(word)),
    field: <SearchBox label={`Filter: ${label}`} placeholder="Filter" value={filter} onInput={onInput} />,
  };
}

interface DropFieldProps extends Pick<InputHTMLAttributes, 'accept' | 'disabled' | 'multiple'> {
  label: string;
  hint?: string;
  onFiles(files: FileList | null): void;
}

/** A zone for files, which can be dropped or chosen. */
export const DropField = ({ label, hint, onFiles, ...rest }: DropFieldProps) => (
  <div class="field">
    <label class="drop">
      {label}
      <input {...rest} type="file" onChange={({ currentTarget }) => onFiles(currentTarget.files)} />
    </label>
    {hint && <p class="hint">{hint}</p>}
  </div>
);

/** Pagination, if a list has several pages. */
export const Pages = ({ page, of, onPage }: { page: number; of: number; onPage(page: number): void }) =>
  of < 2 ? null : (
    <nav class="pages" aria-label="Pages">
      <Button title="Back" isDisabled={page === 1} onClick={() => onPage(page - 1)} />
      <span>
        Page {page} of {of}
      </span>
      <Button title="More" isDisabled={page >= of} onClick={() => onPage(page + 1)} />
    </nav>
  );

/** A button that opens the user pool's page, if admins can sign in here. */
export const SignIn = ({ title = 'Sign in', kind = '' }: { title?: string; kind?: string }) =>
  deployment.signIn ? <Button title={title} kind={kind} onClick={() => void beginSignIn()} /> : null;
