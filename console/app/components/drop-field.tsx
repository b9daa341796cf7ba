import type { InputHTMLAttributes } from 'preact';
import { useId } from 'preact/hooks';

interface DropFieldProps extends Pick<InputHTMLAttributes, 'multiple' | 'accept'> {
  label: string;
  hint?: string;
  isDisabled?: boolean;
  onFiles(files: FileList | null): void;
}

/** A field for files, which can be dropped or chosen. */
export function DropField({ label, hint, isDisabled, onFiles, ...rest }: DropFieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        {...rest}
        id={id}
        class="drop"
        type="file"
        disabled={isDisabled}
        onChange={({ currentTarget }) => onFiles(currentTarget.files)}
      />
      {hint && <p class="hint">{hint}</p>}
    </div>
  );
}
