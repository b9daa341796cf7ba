import { useId, useState } from 'preact/hooks';
import { toBase64 } from '../../../client/bytes.ts';
import type { Issue } from '../../../schemas/errors.ts';
import { describeType, type Field, pathOf } from '../field-values.ts';
import { LongText, Shown } from './text.tsx';

/** The problems of a field, including those inside its value. */
export function problemsOf(field: Field, issues: readonly Issue[]): string[] {
  const own = pathOf(field);
  return issues.flatMap(({ path, problem }) => {
    if (path === own) return [problem];
    return path.startsWith(`${own}/`) ? [`${path.slice(own.length + 1)} ${problem}`] : [];
  });
}

/** The issues that belong to no field, as sentences. */
export const otherProblems = (fields: readonly Field[], issues: readonly Issue[]): string[] =>
  issues.flatMap((issue) =>
    fields.some((field) => problemsOf(field, [issue]).length > 0) ? [] : [`${issue.path.slice(1)} ${issue.problem}`.trim()],
  );

interface FormFieldProps {
  field: Field;
  text: string;
  problems?: readonly string[];
  onText(text: string): void;
}

export function FormField({ field, text, problems = [], onText }: FormFieldProps) {
  const id = useId();
  const { name, label = name, required = false, hint } = field;
  return (
    <div class="field">
      <label for={id}>
        <Shown text={label} />
        {required && <span class="required"> (required)</span>}
      </label>
      <Control {...{ id, field, text, onText, isInvalid: problems.length > 0 }} />
      <p id={`${id}-hint`} class="hint">
        <LongText text={hint ?? hintOf(field)} maxLength={200} />
      </p>
      <Problems id={`${id}-problems`} problems={problems} />
    </div>
  );
}

export const isJson = ({ type, control }: Field): boolean => type === 'object' || (type === 'array' && control !== 'list');

const hintOf = (field: Field): string =>
  // the pattern is shown only if it does not match
  [field.description, `${describeType({ ...field, pattern: undefined })}${isJson(field) ? ', in JSON' : ''}`]
    .filter((text) => text && text !== 'string')
    .join(' · ');

export const Problems = ({ id, problems }: { id?: string; problems: readonly string[] }) => (
  <p id={id} class="problem" aria-live="polite">
    {problems.map((problem) => (
      <span key={problem}>
        <Shown text={problem.charAt(0).toUpperCase() + problem.slice(1)} />.{' '}
      </span>
    ))}
  </p>
);

const plain = { type: 'text', autocomplete: 'off' } as const;

/** Browsers ignore `off` here, and would offer to save the value and fill it into the next form. */
const secret = { type: 'password', autocomplete: 'new-password' } as const;

function Control({ id, field, text, onText, isInvalid }: Omit<FormFieldProps, 'problems'> & { id: string; isInvalid: boolean }) {
  const { type, enum: choices, labels, format, style, control, maxLength = 0 } = field;
  const shared = { id, value: text, 'aria-invalid': isInvalid, 'aria-describedby': `${id}-hint ${id}-problems` };
  const onInput = ({ currentTarget }: { currentTarget: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement }) =>
    onText(currentTarget.value);
  if (control === 'check') {
    return (
      <input
        {...shared}
        type="checkbox"
        checked={text === 'true'}
        onChange={({ currentTarget }) => onText(currentTarget.checked ? 'true' : '')}
      />
    );
  }
  if (control === 'secret') return <input {...shared} {...secret} onInput={onInput} />;
  if (choices !== undefined || type === 'boolean' || type === 'null') {
    const offered = choices ?? (type === 'boolean' ? [true, false] : [null]);
    return (
      <select {...shared} onChange={onInput}>
        {(!field.required || text === '') && <option value="">–</option>}
        {offered.map((choice, at) => (
          <option key={JSON.stringify(choice)} value={JSON.stringify(choice)}>
            {labels?.[at] ?? (typeof choice === 'string' ? choice : JSON.stringify(choice))}
          </option>
        ))}
      </select>
    );
  }
  if (control === 'pairs' || control === 'secrets') {
    const label = field.label ?? field.name;
    return <Pairs id={id} label={label} text={text} onText={onText} isSecret={control === 'secrets'} />;
  }
  if (style === 'base64') return <FileField {...shared} onText={onText} />;
  const isLong = type === 'string' && format === undefined && maxLength > 1_000;
  if (isJson(field) || isLong || text.includes('\n'))
    return <textarea {...shared} rows={isJson(field) ? 3 : 1} spellcheck={isLong} onInput={onInput} />;
  if (format === 'date') return <input {...shared} type="date" onInput={onInput} />;
  const inputMode = type === 'number' || type === 'integer' ? 'decimal' : 'text';
  return <input {...shared} type="text" inputMode={inputMode} autocomplete="off" spellcheck={false} onInput={onInput} />;
}

interface PairsProps {
  id: string;
  label: string;
  /** JSON */
  text: string;
  onText(text: string): void;
  isSecret: boolean;
}

/** Name and value fields for the members of an object of strings. */
function Pairs({ id, label, text, onText, isSecret }: PairsProps) {
  const [pairs, setPairs] = useState(() => readPairs(text));
  const current = readPairs(text);
  // keep local rows, some of which may have no name or one of another row, unless the text has changed from outside
  const rows = writePairs(pairs) === writePairs(current) ? pairs : current;
  const change = (next: Pair[]) => {
    setPairs(next);
    onText(writePairs(next));
  };
  return (
    <div class="pairs">
      {[...rows, ['', ''] as Pair].map((row, at) => (
        <div key={at}>
          {(['Name', 'Value'] as const).map((part, place) => (
            <input
              key={part}
              id={at + place === 0 ? id : undefined}
              {...(isSecret && part === 'Value' ? secret : plain)}
              aria-label={`${label}: ${part.toLowerCase()} ${at + 1}`}
              aria-invalid={part === 'Name' && row[0] !== '' && rows.findIndex(([name]) => name === row[0]) < at}
              placeholder={part}
              value={row[place]}
              onInput={({ currentTarget }) => change(rows.toSpliced(at, 1, row.with(place, currentTarget.value) as Pair))}
            />
          ))}
        </div>
      ))}
    </div>
  );
}

type Pair = [name: string, value: string];

function readPairs(text: string): Pair[] {
  if (text === '') return [];
  return Object.entries(JSON.parse(text) as Record<string, string>);
}

function writePairs(pairs: readonly Pair[]): string {
  const named = pairs.filter(([name]) => name !== '');
  return named.length === 0 ? '' : JSON.stringify(Object.fromEntries(named));
}

/** A file input whose value is the content in base64. */
const FileField = ({ value, onText, ...shared }: { id: string; value: string; onText(text: string): void }) => (
  <input
    {...shared}
    type="file"
    title={value === '' ? undefined : `${value.length} characters of base64`}
    onChange={({ currentTarget: { files } }) => void readFile(files?.[0]).then(onText)}
  />
);

async function readFile(file: File | undefined): Promise<string> {
  return file === undefined ? '' : toBase64(await file.arrayBuffer());
}
