import { useState } from 'preact/hooks';
import type { Issue } from '../../../schemas/errors.ts';
import { numberText } from '../../../schemas/number.ts';
import type { Parameter } from '../../../schemas/parameter.ts';
import type { Typed } from './parameter-values.ts';
import { Shown } from './parts.tsx';

interface FieldsProps {
  definitions: readonly Parameter[];
  typed: Typed;
  issues: readonly Issue[];
  onTyped(typed: Typed): void;
}

/**
 * A field for each parameter of an intent: first those that must be filled in, then the others, folded unless one of them is filled in or
 * wrong, or there is nothing else.
 */
export function ParameterFields({ definitions, typed, issues, onTyped }: FieldsProps) {
  const [isUnfolded, setUnfolded] = useState<boolean>();
  const required = definitions.filter((definition) => definition.required);
  const optional = definitions.filter((definition) => !definition.required);
  const problemsOf = ({ name }: Parameter) => issues.filter(({ path }) => isAt(path, name)).map(({ problem }) => problem);
  const isTyped = optional.some(({ name }) => (typed[name] ?? '') !== '');
  const isWrong = optional.some((definition) => problemsOf(definition).length > 0);
  const fieldOf = (definition: Parameter) => (
    <ParameterField
      key={definition.name}
      id={`parameter-${definitions.indexOf(definition)}`}
      definition={definition}
      text={typed[definition.name] ?? ''}
      problems={problemsOf(definition)}
      onText={(text) => onTyped({ ...typed, [definition.name]: text })}
    />
  );
  return (
    <>
      {required.map(fieldOf)}
      {optional.length > 0 && (
        <details
          open={isWrong || (isUnfolded ?? (isTyped || required.length === 0))}
          onToggle={({ currentTarget }) => setUnfolded(currentTarget.open)}
        >
          <summary>Optional ({optional.length})</summary>
          {optional.map(fieldOf)}
        </details>
      )}
    </>
  );
}

/** Whether an issue is about a parameter, or about something within its value. */
function isAt(path: string, name: string): boolean {
  const own = `/parameters/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  return path === own || path.startsWith(`${own}/`);
}

interface FieldProps {
  id: string;
  definition: Parameter;
  text: string;
  problems: string[];
  onText(text: string): void;
}

function ParameterField({ id, definition, text, problems, onText }: FieldProps) {
  const { name, description, required = false } = definition;
  return (
    <div class="field">
      <label for={id}>
        <Shown text={name} />
        {required && <span class="required"> (required)</span>}
      </label>
      <Control {...{ id, definition, text, onText, isInvalid: problems.length > 0 }} />
      <p id={`${id}-hint`} class="hint">
        {description && (
          <>
            <Shown text={description} /> ·{' '}
          </>
        )}
        {describeType(definition)}
      </p>
      <Problems id={`${id}-problems`} problems={problems} />
    </div>
  );
}

/** What is wrong with a field, at the field. */
export const Problems = ({ id, problems }: { id: string; problems: readonly string[] }) => (
  <p id={id} class="problem" aria-live="polite">
    {problems.map((problem) => (
      <span key={problem}>
        <Shown text={problem.charAt(0).toUpperCase() + problem.slice(1)} />.{' '}
      </span>
    ))}
  </p>
);

function Control({ id, definition, text, onText, isInvalid }: Omit<FieldProps, 'problems'> & { isInvalid: boolean }) {
  const { type, enum: choices, format, style, maxLength = Number.POSITIVE_INFINITY } = definition;
  const shared = { id, value: text, 'aria-invalid': isInvalid, 'aria-describedby': `${id}-hint ${id}-problems` };
  if (choices !== undefined || type === 'boolean' || type === 'null') {
    const offered = choices ?? (type === 'boolean' ? [true, false] : [null]);
    return (
      <select {...shared} onChange={({ currentTarget }) => onText(currentTarget.value)}>
        <option value="">–</option>
        {offered.map((choice) => (
          <option key={JSON.stringify(choice)} value={JSON.stringify(choice)}>
            {typeof choice === 'string' ? choice : JSON.stringify(choice)}
          </option>
        ))}
      </select>
    );
  }
  if (style === 'base64') return <FileField {...shared} onText={onText} />;
  const isLong =
    type === 'array' ||
    type === 'object' ||
    (type === 'string' && format === undefined && maxLength > 1_000 && maxLength !== Number.POSITIVE_INFINITY);
  if (isLong || text.includes('\n'))
    return <textarea {...shared} rows={4} spellcheck={false} onInput={({ currentTarget }) => onText(currentTarget.value)} />;
  const onInput = ({ currentTarget }: { currentTarget: HTMLInputElement }) => onText(currentTarget.value);
  if (format === 'date') return <input {...shared} type="date" onInput={onInput} />;
  const inputMode = type === 'number' || type === 'integer' ? 'decimal' : 'text';
  return <input {...shared} type="text" inputMode={inputMode} autocomplete="off" spellcheck={false} onInput={onInput} />;
}

/** A file, which is sent as text in base64. */
const FileField = ({ value, onText, ...shared }: { id: string; value: string; onText(text: string): void }) => (
  <input
    {...shared}
    type="file"
    title={value === '' ? undefined : `${value.length} characters of base64`}
    onChange={({ currentTarget: { files } }) => void readFile(files?.[0]).then(onText)}
  />
);

async function readFile(file: File | undefined): Promise<string> {
  if (file === undefined) return '';
  const bytes = new Uint8Array(await file.arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}

/** In a few words, what a parameter takes. */
export function describeType({ type, format, minimum, maximum, minLength, maxLength, pattern, default: usual }: Parameter): string {
  return [
    format ?? (type === 'any' ? 'anything' : type === 'array' || type === 'object' ? `${type} in JSON` : type),
    ...(minimum === undefined ? [] : [`at least ${numberText(minimum)}`]),
    ...(maximum === undefined ? [] : [`at most ${numberText(maximum)}`]),
    ...(minLength === undefined ? [] : [`at least ${minLength} characters`]),
    ...(maxLength === undefined ? [] : [`at most ${maxLength} characters`]),
    ...(pattern === undefined ? [] : [`matches ${pattern}`]),
    ...(usual === undefined ? [] : [`${JSON.stringify(usual)} if left out`]),
  ].join(', ');
}
