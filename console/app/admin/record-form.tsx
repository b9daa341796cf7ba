import { useRef, useState } from 'preact/hooks';
import * as z from 'zod';
import { Refusal } from '../../../client/errors.ts';
import { isObject, issuesOf } from '../../../functions/core/json/json.ts';
import { type Difference, findDifferences } from '../../../registry/differences.ts';
import type { Issue } from '../../../schemas/errors.ts';
import type { JsonSchema } from '../../../schemas/openapi.ts';
import { Button, SubmitForm } from '../components/controls.tsx';
import { Command } from '../components/copyable.tsx';
import { otherProblems, Problems } from '../components/field.tsx';
import { Fields, type FieldsProps } from '../components/fields.tsx';
import { Failure } from '../components/states.tsx';
import { Table } from '../components/table.tsx';
import { type Field, pathTo, readFields, type Typed, typeValue } from '../field-values.ts';
import { ask } from '../gate.ts';
import { withMember } from '../nested.ts';
import { useDraft } from '../store.ts';

type Values = Record<string, unknown>;

interface RecordFormProps {
  /** name under which the draft is kept */
  name: string;
  fields: readonly Field[];
  record: Values;
  isNew?: boolean;
  etag?: string | undefined;
  schema: z.ZodType;
  /** path of the record, or of the list to which a new one is added */
  path: string;
  /** query that reads the record */
  query?: Record<string, string>;
  /** the equivalent command after `npx intent-gate`, which takes a file with the body */
  command: string;
  onSaved(answer: Values): void;
}

/** The record to which the changes apply, as it was read. */
interface Base {
  record: Values;
  etag: string | undefined;
}

/** The draft, with the record that it edits, so that it does not silently overwrite somebody else's change. */
interface Draft {
  typed: Typed;
  base: Base;
}

/**
 * A form for a record. It validates with the gate's own rules before sending, and shows the gate's issues at their fields. If somebody else has
 * changed the record meanwhile, it shows the differences and lets the user choose.
 */
export function RecordForm({ name, fields, record, etag, isNew = false, schema, path, query = {}, command, onSaved }: RecordFormProps) {
  const [draft, setDraft] = useDraft<Draft | undefined>(`draft ${name}`, undefined);
  // the record known from a save or comparison, until it is read again
  const [newer, setNewer] = useState<{ than: string | undefined; base: Base }>();
  const known: Base = newer && newer.than === etag ? newer.base : { record, etag };
  const fresh = typeRecord(fields, known.record);
  // if the record still has the content that the draft edits, at most its entity tag has changed
  const isOfKnown = draft === undefined || isSame(typeRecord(fields, draft.base.record), fresh);
  const base = isOfKnown ? known : draft.base;
  const typed = draft?.typed ?? fresh;
  const latest = useRef({ draft, etag });
  latest.current = { draft, etag };
  const [issues, setIssues] = useState<Issue[]>([]);
  const [failure, setFailure] = useState<unknown>();
  const [conflict, setConflict] = useState<Base & { differences: Difference[] }>();
  const [isSaving, setSaving] = useState(false);
  const given = { typed, issues, onTyped: (next: Typed) => setDraft({ base, typed: next }) };
  const { body: shown } = readRecord(fields, typed, base.record);

  async function save(over: Base = base): Promise<void> {
    setFailure(undefined);
    const sent = over === base ? draft : { typed, base: over };
    if (sent !== draft) setDraft(sent);
    const { body, issues: unread } = readRecord(fields, typed, over.record);
    const checked = schema.safeParse(body, { reportInput: true });
    const found = [...unread, ...(unread.length > 0 || checked.success ? [] : issuesOf(checked.error))];
    setIssues(found);
    if (found.length > 0) return;
    setSaving(true);
    try {
      const headers: Record<string, string> = isNew ? {} : { 'If-Match': over.etag ?? '*' };
      const answer = await ask<Values>(isNew ? 'POST' : 'PUT', path, { body, headers, isAdmin: true });
      settle({ record: body, etag: answer.etag }, sent, answer.value);
    } catch (error) {
      if (error instanceof Refusal && error.details.reason === 'etag_mismatch') {
        await compare(body, sent).catch(setFailure);
      } else {
        setIssues(error instanceof Refusal ? error.issues : []);
        setFailure(error);
      }
    } finally {
      setSaving(false);
    }
  }

  /** Shows a record that is saved, and keeps what was typed meanwhile as a new draft. */
  function settle(saved: Base, sent: Draft | undefined, answer: Values): void {
    const { current } = latest;
    setNewer({ than: current.etag, base: saved });
    setDraft(current.draft && current.draft !== sent ? { ...current.draft, base: saved } : undefined);
    setConflict(undefined);
    onSaved(answer);
  }

  async function compare(body: Values, sent: Draft | undefined): Promise<void> {
    const { value: record, etag } = await ask<Values>('GET', path, { query, isAdmin: true });
    const theirs = readRecord(fields, typeRecord(fields, record), record).body;
    const differences = findDifferences(theirs, body);
    // without any, an earlier attempt was not answered, or somebody else has made the same change
    if (differences.length === 0) settle({ record, etag }, sent, record);
    else setConflict({ differences, record, etag });
  }

  return (
    <>
      <SubmitForm
        title="Save"
        busyTitle="Saving …"
        isBusy={isSaving}
        issues={issues}
        onSubmit={() => void save()}
        note={!isSame(typed, typeRecord(fields, base.record)) && <Button title="Discard changes" onClick={() => setDraft(undefined)} />}
      >
        <FieldGroups {...given} fields={fields} shown={fresh} />
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
      </SubmitForm>
      <Command text={`${command} <<'END'\n${JSON.stringify(shown, null, 2)}\nEND`} />
    </>
  );
}

interface FieldGroupsProps extends FieldsProps {
  /** values at first */
  shown: Typed;
  /** title of the rare fields */
  title?: string;
}

/** Fields, of which the rare ones are folded unless one has a value at first or a problem, and the problems of none of them. */
export function FieldGroups({ fields, shown, title = 'More settings', ...given }: FieldGroupsProps) {
  const [rare = [], usual = []] = [true, false].map((isRare) => fields.filter((field) => (field.isRare ?? false) === isRare));
  const { issues } = given;
  return (
    <>
      <div class="fields">
        <Fields {...given} fields={usual} />
      </div>
      {rare.length > 0 && (
        <details open={rare.some(({ name }) => shown[name]) || otherProblems(rare, issues).length < issues.length}>
          <summary>{title}</summary>
          <div class="fields">
            <Fields {...given} fields={rare} />
          </div>
        </details>
      )}
      <Problems problems={otherProblems(fields, issues)} />
    </>
  );
}

/** Shows what somebody else has changed since the record was read. */
const Conflict = ({ differences, onMine, onTheirs }: { differences: Difference[]; onMine(): void; onTheirs(): void }) => (
  <div class="failure" role="alert">
    <p>Someone else has changed this since you opened it. Your changes are not saved yet. They differ in:</p>
    <Table
      label="Differences"
      heads={['Where', 'It is now', 'Yours']}
      rows={differences.map(({ path, before, after }) => [path, JSON.stringify(before), JSON.stringify(after)])}
    />
    <p class="buttons">
      <Button title="Overwrite with mine" kind="danger" onClick={onMine} />
      <Button title="Use the current version" onClick={onTheirs} />
    </p>
  </div>
);

const isSame = (left: Typed, right: Typed): boolean => findDifferences(left, right).length === 0;

const memberAt = (record: Values, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), record);

const typeRecord = (fields: readonly Field[], record: Values): Typed =>
  Object.fromEntries(fields.map((field) => [field.name, typeValue(field, memberAt(record, pathTo(field)))]));

/** The body from the fields. Members without a field are unchanged. */
export function readRecord(fields: readonly Field[], typed: Typed, record: Values): { body: Values; issues: Issue[] } {
  const { values, issues } = readFields(fields, typed);
  const body = fields.reduce((whole, field) => withMember(whole, pathTo(field), values[field.name]) ?? {}, record);
  return { body, issues };
}

/**
 * The fields of a record, from the schema of its body, which must have an id.
 * @param labels - labels or properties of fields, by member; `endpoint/url` is a nested member
 */
export function fieldsOfRecord(schema: z.ZodType, labels: Record<string, string | Partial<Field>>): Field[] {
  const { $ref = '', $defs = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const root = $defs[$ref.replace('#/$defs/', '')] as Nested;
  return Object.entries(labels).map(([name, given]) => {
    const path = name.split('/');
    return { ...shapeOf(root, path), name, path, ...(typeof given === 'string' ? { label: given } : given) };
  });
}

type Nested = JsonSchema & { anyOf?: Nested[]; items?: JsonSchema; properties?: Record<string, Nested> };

function shapeOf(schema: Nested, [first = '', ...rest]: string[]): Pick<Field, 'type'> & Partial<Field> {
  const { properties = {}, required = [] } = [schema, ...(schema.anyOf ?? [])].find((one) => one.properties) ?? {};
  const { type = 'any', enum: choices, format, maxLength, items, description: hint = '', ...inner } = properties[first] ?? {};
  if (rest.length > 0) return shapeOf(inner, rest);
  const shape = { type, enum: choices, format, maxLength, hint, required: required.includes(first) } as Field;
  if (type === 'boolean') return { ...shape, control: 'check' };
  return items?.type === 'string' ? { ...shape, control: 'list' } : shape;
}
