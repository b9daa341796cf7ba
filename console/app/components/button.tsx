import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Issue } from '../../../schemas/errors.ts';

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
  <button type="button" class={kind} aria-label={label} aria-busy={isBusy} aria-pressed={isPressed} disabled={isDisabled} onClick={onClick}>
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
