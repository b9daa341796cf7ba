import { useState } from 'preact/hooks';
import type * as z from 'zod';
import { Refusal } from '../../../client/errors.ts';
import { issuesOf, pointer } from '../../../functions/core/json.ts';
import { quote } from '../../../registry/shell-words.ts';
import { type CredentialInput, type credentialFacts, credentialInput, type savedCredential } from '../../../schemas/credential.ts';
import type { Issue } from '../../../schemas/errors.ts';
import { Button } from '../components/button.tsx';
import { otherProblems, Problems } from '../components/field.tsx';
import { Fields } from '../components/fields.tsx';
import { Part } from '../components/heading.tsx';
import { Warnings } from '../components/states.tsx';
import { Shown, Time } from '../components/text.tsx';
import { type Field, readFields, type Typed } from '../field-values.ts';
import { ask } from '../gate.ts';
import { Act } from './act.tsx';

/** Where a value can be sent, with the path in the request body; the key is the command's option. */
const places = {
  header: { label: 'Header field', path: ['headers'] },
  query: { label: 'Query parameter', path: ['query'] },
  'next-header': { label: 'Header field, tried if the upstream answers 401 to the others', path: ['next', 'headers'] },
  'next-query': { label: 'Query parameter, tried if the upstream answers 401 to the others', path: ['next', 'query'] },
} as const;

const placeField: Field = {
  name: 'place',
  label: 'Place',
  type: 'string',
  required: true,
  enum: Object.keys(places),
  labels: Object.values(places).map(({ label }) => label),
  hint: '',
};

type CredentialFacts = z.infer<typeof credentialFacts>;

const originsField: Field = {
  name: 'origins',
  label: 'Origins that it is sent to',
  type: 'array',
  control: 'list',
  hint: "Separated by commas, such as https://api.example.com; default: the origin of the service's address",
};

const fieldsOf = (typed: Typed): Field[] => [
  placeField,
  { name: 'name', label: 'Name', type: 'string', path: [], hint: 'For example Authorization, X-Api-Key or api_key' },
  { name: 'value', label: 'Secret value', type: 'string', control: 'secret', path: pathTo(typed), hint: '' },
];

const placeOf = ({ place = '' }: Typed): keyof typeof places => JSON.parse(place);

const pathTo = (typed: Typed): string[] => [...places[placeOf(typed)].path, typed.name ?? ''];

const typeOf = (place: keyof typeof places, name = ''): Typed => ({ place: JSON.stringify(place), name, value: '' });

interface CredentialProps {
  id: string;
  /** null if there is no credential; undefined if the gate does not say */
  facts: CredentialFacts | null | undefined;
  /** names that the API's document requires, by place */
  suggested: URLSearchParams;
  onChanged(): void;
}

/** Shows facts about the credential, never a value, and a form to set it. Values are kept only in memory, until they are sent. */
export function Credential({ id, facts, suggested, onChanged }: CredentialProps) {
  const path = `/api/services/${id}/credential`;
  const [values, setValues] = useState(() => startWith(facts, suggested));
  const [origins, setOrigins] = useState('');
  const [issues, setIssues] = useState<Issue[]>([]);
  const [warnings, setWarnings] = useState<string[]>();

  async function set(): Promise<boolean> {
    const { body, repeated } = readBody(values, readFields([originsField], { origins }).values);
    const checked = credentialInput.safeParse(body, { reportInput: true });
    const found = [...repeated, ...(checked.success ? [] : issuesOf(checked.error))];
    setIssues(found);
    if (found.length > 0) return false;
    try {
      const { value } = await ask<z.infer<typeof savedCredential>>('PUT', path, { body, as: 'admin' });
      setWarnings(value.warnings);
      setValues(values.map((one) => ({ ...one, value: '' })));
      return true;
    } catch (error) {
      setIssues(error instanceof Refusal ? error.issues : []);
      throw error;
    }
  }

  const fields = [...values.flatMap(fieldsOf), originsField];
  const options = values.flatMap((typed) => (typed.name ? [`--${placeOf(typed)} ${quote(typed.name)}`] : []));
  return (
    <Part title="Credential">
      <Known facts={facts} />
      <p class="quiet">
        Once set, values are never shown again. Until then they stay in the memory of this page, and are lost if you reload or leave it.
      </p>
      {values.map((typed, at) => (
        <fieldset key={at} class="group">
          <legend>Value {at + 1}</legend>
          <Fields fields={fieldsOf(typed)} typed={typed} issues={issues} onTyped={(next) => setValues(values.with(at, next))} />
          {values.length > 1 && (
            <Button title="Remove" kind="plain" label={`Remove value ${at + 1}`} onClick={() => setValues(values.toSpliced(at, 1))} />
          )}
        </fieldset>
      ))}
      <p>
        <Button title="Add a value" onClick={() => setValues([...values, typeOf('header')])} />
      </p>
      <Fields fields={[originsField]} typed={{ origins }} issues={issues} onTyped={(typed) => setOrigins(typed.origins ?? '')} />
      <Problems problems={otherProblems(fields, issues)} />
      <Act
        title="Set the credential"
        command={['npx intent-gate services credential set', id, ...(options.length > 0 ? options : ['--header X-Api-Key'])].join(' ')}
        act={set}
        onDone={onChanged}
      />
      <Warnings texts={warnings} />
      {facts && (
        <Act
          title="Remove the credential"
          isDangerous
          command={`npx intent-gate services credential remove ${id}`}
          act={() => ask('DELETE', path, { as: 'admin' })}
          onDone={() => {
            setWarnings(undefined);
            onChanged();
          }}
        />
      )}
    </Part>
  );
}

function Known({ facts }: Pick<CredentialProps, 'facts'>) {
  if (facts === undefined) return null;
  if (facts === null) return <p>No credential is set, so calls are sent without one.</p>;
  return (
    <p>
      Set{' '}
      {facts.set_by && (
        <>
          by <Shown text={facts.set_by} />{' '}
        </>
      )}
      at <Time at={facts.set_at} />: <Shown text={[...(facts.headers ?? []), ...(facts.query ?? [])].join(', ')} />, sent to{' '}
      <Shown text={facts.origins.join(', ')} /> only.
    </p>
  );
}

/** Initial rows: the names of the current values, else those that the document requires. */
function startWith(facts: CredentialFacts | null | undefined, suggested: URLSearchParams): Typed[] {
  const headers = facts?.headers ?? suggested.getAll('header');
  const query = facts?.query ?? suggested.getAll('query');
  const found = [...headers.map((name) => typeOf('header', name)), ...query.map((name) => typeOf('query', name))];
  return found.length > 0 ? found : [typeOf('header')];
}

/** The request body from the fields. Omits values without name and text. */
function readBody(values: readonly Typed[], others: object): { body: CredentialInput; repeated: Issue[] } {
  const first: Record<string, Record<string, string>> = {};
  const next: typeof first = {};
  const repeated: Issue[] = [];
  for (const typed of values.filter(({ name, value }) => name || value)) {
    const { name = '', value = '' } = typed;
    const place = placeOf(typed);
    const into = place.startsWith('next') ? next : first;
    const kind = place.endsWith('query') ? 'query' : 'headers';
    if (Object.hasOwn(into[kind] ?? {}, name)) repeated.push({ path: pointer(pathTo(typed)), problem: 'must have a name of its own' });
    into[kind] = { ...into[kind], [name]: value };
  }
  return { body: { ...first, ...(Object.keys(next).length > 0 && { next }), ...others }, repeated };
}
