import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type * as z from 'zod';
import { type Difference, findDifferences } from '../../../../bin/cli/registry/differences.ts';
import { Refusal } from '../../../../client/errors.ts';
import { issuesOf } from '../../../../functions/core/json.ts';
import type { Issue } from '../../../../schemas/errors.ts';
import { parseExact } from '../../../../schemas/number.ts';
import { ask } from '../gate.ts';
import { Problems } from '../parameter-form.tsx';
import { Copyable, Failure, Table } from '../parts.tsx';
import { useDraft } from '../store.ts';

/** A field of a record. */
export interface Field {
  /** member of the record; `endpoint/url` is within another one */
  name: string;
  label: string;
  kind: 'line' | 'text' | 'json' | 'list' | 'check' | 'choice';
  choices?: readonly string[];
  hint?: string;
  isRequired?: boolean;
}

type Values = Record<string, unknown>;
type Typed = Record<string, string>;

interface RecordFormProps {
  /** names what is typed, so that it is kept */
  name: string;
  fields: readonly Field[];
  /** as it was read; an empty one for a new record */
  record: Values;
  etag?: string | undefined;
  /** what the gate checks the body with */
  schema: z.ZodType;
  /** where it is sent */
  send: { method: 'POST' | 'PUT'; path: string };
  /** where a record that exists is read again */
  read?: { path: string; query?: Record<string, string> };
  /** the command that does the same with a file of the body */
  command: string;
  onSaved(answer: Values): void;
}

/** A record as it was read, which is what the changes are made to. */
interface Base {
  record: Values;
  etag: string | undefined;
}

/** What is kept: also what it was typed over, so that it is not saved over somebody else's change unseen. */
interface Draft {
  typed: Typed;
  base: Base;
}

/**
 * A form for a record. It is checked with the gate's own rules before it is sent, what the gate refuses is shown at its field, and if somebody else
 * has changed the record in the meantime, the differences are shown before one of the two is kept.
 */
export function RecordForm({ name, fields, record, etag, schema, send, read, command, onSaved }: RecordFormProps) {
  const [draft, setDraft] = useDraft<Draft | undefined>(`draft ${name}`, undefined);
  // what a save or a comparison has told, until the record itself is read again
  const [newer, setNewer] = useState<{ than: string | undefined; base: Base }>();
  const known: Base = newer && newer.than === etag ? newer.base : { record, etag };
  const fresh = typeRecord(fields, known.record);
  // if what was typed over is what the record says still, only its entity tag may have changed
  const isOfKnown = draft === undefined || isSame(typeRecord(fields, draft.base.record), fresh);
  const base = isOfKnown ? known : draft.base;
  const typed = draft?.typed ?? fresh;
  const latest = useRef({ draft, etag });
  latest.current = { draft, etag };
  const [issues, setIssues] = useState<Issue[]>([]);
  const [failure, setFailure] = useState<unknown>();
  const [conflict, setConflict] = useState<Base & { differences: Difference[] }>();
  const [isSaving, setSaving] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), [issues]);
  const { body: shown } = readRecord(fields, typed, base.record);

  async function save(over: Base = base): Promise<void> {
    setFailure(undefined);
    const sent = over === base ? draft : { typed, base: over };
    if (sent !== draft) setDraft(sent);
    const { body, unread } = readRecord(fields, typed, over.record);
    const checked = schema.safeParse(body, { reportInput: true });
    const found = [...unread, ...(unread.length > 0 || checked.success ? [] : issuesOf(checked.error))];
    setIssues(found);
    if (found.length > 0) return;
    setSaving(true);
    try {
      const headers: Record<string, string> = over.etag === undefined ? {} : { 'If-Match': over.etag };
      const { value, etag } = await ask<Values>(send.method, send.path, { body, headers, as: 'admin' });
      const saved: Base = { record: body, etag };
      const { current } = latest;
      setNewer({ than: current.etag, base: saved });
      // what was typed while it was being saved is not saved yet
      setDraft(current.draft && current.draft !== sent ? { ...current.draft, base: saved } : undefined);
      setConflict(undefined);
      onSaved(value);
    } catch (error) {
      if (read && error instanceof Refusal && error.details.reason === 'etag_mismatch') {
        await compare(read, body).catch(setFailure);
      } else {
        setIssues(error instanceof Refusal ? error.issues : []);
        setFailure(error);
      }
    } finally {
      setSaving(false);
    }
  }

  async function compare({ path, query }: NonNullable<typeof read>, body: Values): Promise<void> {
    const now = await ask<Values>('GET', path, { as: 'admin', ...(query && { query }) });
    const theirs = readRecord(fields, typeRecord(fields, now.value), now.value).body;
    setConflict({ differences: findDifferences(theirs, body), etag: now.etag, record: now.value });
  }

  const isOf = (path: string, field: Field) => path === `/${field.name}` || path.startsWith(`/${field.name}/`);
  const others = issues.filter(({ path }) => !fields.some((field) => isOf(path, field)));
  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!isSaving) void save();
      }}
    >
      {fields.map((field) => (
        <RecordField
          key={field.name}
          field={field}
          text={typed[field.name] ?? ''}
          issues={issues.filter(({ path }) => isOf(path, field))}
          onText={(text) => setDraft({ base, typed: { ...typed, [field.name]: text } })}
        />
      ))}
      <Problems id="record-problems" problems={others.map(({ path, problem }) => `${path} ${problem}`)} />
      <Failure error={failure} />
      {conflict && (
        <Conflict
          differences={conflict.differences}
          onMine={() => void save({ record: conflict.record, etag: conflict.etag })}
          onTheirs={() => {
            setNewer({ than: etag, base: { record: conflict.record, etag: conflict.etag } });
            setDraft(undefined);
            setConflict(undefined);
          }}
        />
      )}
      <p class="buttons">
        <button type="submit" class="main" aria-busy={isSaving}>
          {isSaving ? 'Saving …' : 'Save'}
        </button>
        {!isSame(typed, typeRecord(fields, base.record)) && (
          <button type="button" onClick={() => setDraft(undefined)}>
            Discard what I have typed
          </button>
        )}
      </p>
      <Command text={`${command} <<'END'\n${JSON.stringify(shown, null, 2)}\nEND`} />
    </form>
  );
}

/** The command that would do the same. */
export const Command = ({ text }: { text: string }) => (
  <details>
    <summary>The same on the command line</summary>
    <Copyable label="Command" text={text} />
  </details>
);

/** What somebody else has changed since the record was read. */
const Conflict = ({ differences, onMine, onTheirs }: { differences: Difference[]; onMine(): void; onTheirs(): void }) => (
  <div class="failure" role="alert">
    <p>Somebody else has changed this since you opened it. Nothing of yours is saved yet. You differ in:</p>
    <Table
      label="Differences"
      heads={['Where', 'It is now', 'Yours']}
      rows={differences.map(({ path, before, after }) => [path, JSON.stringify(before), JSON.stringify(after)])}
    />
    <p class="buttons">
      <button type="button" class="danger" onClick={onMine}>
        Save mine over it
      </button>
      <button type="button" onClick={onTheirs}>
        Take what it is now
      </button>
    </p>
  </div>
);

interface RecordFieldProps {
  field: Field;
  text: string;
  issues: readonly Issue[];
  onText(text: string): void;
}

/** A field, with what is wrong in it. */
export function RecordField({ field, text, issues, onText }: RecordFieldProps) {
  const { name, label, kind, hint, isRequired = false } = field;
  const id = `field-${name.replaceAll('/', '-')}`;
  const problems = issues.map(({ path, problem }) => (path === `/${name}` ? problem : `${path.slice(name.length + 2)} ${problem}`));
  const shared = { id, 'aria-invalid': problems.length > 0, 'aria-describedby': `${id}-hint ${id}-problems` };
  const onInput = ({ currentTarget }: { currentTarget: HTMLInputElement | HTMLTextAreaElement }) => onText(currentTarget.value);
  return (
    <div class="field">
      {kind === 'check' ? (
        <label for={id}>
          <input
            {...shared}
            type="checkbox"
            checked={text === 'true'}
            onChange={({ currentTarget }) => onText(currentTarget.checked ? 'true' : '')}
          />{' '}
          {label}
        </label>
      ) : (
        <label for={id}>
          {label}
          {isRequired && <span class="required"> (required)</span>}
        </label>
      )}
      {kind === 'choice' && (
        <select {...shared} value={text} onChange={({ currentTarget }) => onText(currentTarget.value)}>
          {field.choices?.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      )}
      {(kind === 'text' || kind === 'json') && (
        <textarea {...shared} rows={kind === 'json' ? 8 : 4} value={text} spellcheck={kind === 'text'} onInput={onInput} />
      )}
      {(kind === 'line' || kind === 'list') && <input {...shared} type="text" autocomplete="off" value={text} onInput={onInput} />}
      <p id={`${id}-hint`} class="hint">
        {hint}
      </p>
      <Problems id={`${id}-problems`} problems={problems} />
    </div>
  );
}

const isSame = (left: Typed, right: Typed): boolean => findDifferences(left, right).length === 0;

/** What the fields contain for a record. */
function typeRecord(fields: readonly Field[], record: Values): Typed {
  return Object.fromEntries(
    fields.map(({ name, kind, choices }) => {
      const value = memberAt(record, name);
      if (value === undefined || value === null || value === false) return [name, kind === 'choice' ? (choices?.[0] ?? '') : ''];
      if (kind === 'list' && Array.isArray(value)) return [name, value.join(', ')];
      return [name, kind === 'json' ? JSON.stringify(value, null, 2) : String(value)];
    }),
  );
}

/** The body that the fields stand for. Members that have no field stay as they are. */
function readRecord(fields: readonly Field[], typed: Typed, record: Values): { body: Values; unread: Issue[] } {
  const unread: Issue[] = [];
  const body: Values = parseExact(JSON.stringify(record)) as Values;
  for (const { name, kind } of fields) {
    const text = typed[name] ?? '';
    let value: unknown = text === '' ? undefined : text;
    if (kind === 'check') value = text === 'true' ? true : undefined;
    if (kind === 'list') value = text.split(',').flatMap((item) => item.trim() || []);
    if (kind === 'json' && text.trim() !== '') {
      try {
        value = parseExact(text);
      } catch (error) {
        unread.push({ path: `/${name}`, problem: `is not JSON: ${(error as Error).message}` });
      }
    }
    setMember(body, name, value);
  }
  return { body, unread };
}

function memberAt(record: Values, name: string): unknown {
  const [first = '', ...rest] = name.split('/');
  const value = record[first];
  return rest.length === 0 ? value : memberAt((value ?? {}) as Values, rest.join('/'));
}

function setMember(record: Values, name: string, value: unknown): void {
  const [first = '', ...rest] = name.split('/');
  if (rest.length > 0) {
    const inner = { ...((record[first] ?? {}) as Values) };
    setMember(inner, rest.join('/'), value);
    record[first] = inner;
  } else if (value === undefined) {
    delete record[first];
  } else {
    record[first] = value;
  }
}
