import { useState } from 'preact/hooks';
import type * as z from 'zod';
import { Refusal } from '../../../../client/errors.ts';
import { issuesOf, pointer } from '../../../../functions/core/json.ts';
import { type CredentialInput, type credentialFacts, credentialInput, type savedCredential } from '../../../../schemas/credential.ts';
import type { Issue } from '../../../../schemas/errors.ts';
import { quote } from '../code-samples.ts';
import { ask } from '../gate.ts';
import { Problems } from '../parameter-form.tsx';
import { Copyable, Part, Shown, Time } from '../parts.tsx';
import { Act } from './act.tsx';
import { type Field, RecordField } from './record-form.tsx';

/** Where a value is sent: members of the body, and the option of the command. */
const places = {
  header: { label: 'Header field', path: ['headers'] },
  query: { label: 'Query parameter', path: ['query'] },
  'next-header': { label: 'Header field, tried if the upstream answers 401 to the others', path: ['next', 'headers'] },
  'next-query': { label: 'Query parameter, tried if the upstream answers 401 to the others', path: ['next', 'query'] },
} as const;

type Place = keyof typeof places;

interface Value {
  place: Place;
  name: string;
  value: string;
}

type Facts = z.infer<typeof credentialFacts>;

const originsField: Field = {
  name: 'origins',
  label: 'Where they are sent',
  kind: 'line',
  hint: "Origins separated by commas, such as https://api.example.com; the origin of the service's address if you leave it out",
};

interface CredentialProps {
  id: string;
  /** null if there is none; undefined if the gate does not say */
  facts: Facts | null | undefined;
  /** names that the document of the API asks for, by place */
  suggested: URLSearchParams;
  onChanged(): void;
}

/** What is known of the credential, never a value; and a form that sets it. Values stay in the memory of the page, and only until they are sent. */
export function Credential({ id, facts, suggested, onChanged }: CredentialProps) {
  const path = `/api/services/${id}/credential`;
  const [values, setValues] = useState(() => startWith(facts, suggested));
  const [origins, setOrigins] = useState('');
  const [issues, setIssues] = useState<Issue[]>([]);
  const [signingKey, setSigningKey] = useState<string>();
  const change = (at: number, changes: Partial<Value>) =>
    setValues(values.map((value, index) => (index === at ? { ...value, ...changes } : value)));

  async function set(): Promise<boolean> {
    const { body, repeated } = readBody(values, origins);
    const checked = credentialInput.safeParse(body, { reportInput: true });
    const found = [...repeated, ...(checked.success ? [] : issuesOf(checked.error))];
    setIssues(found);
    if (found.length > 0) return false;
    try {
      const { value } = await ask<z.infer<typeof savedCredential>>('PUT', path, { body, as: 'admin' });
      setSigningKey(value.signing_key);
      setValues(values.map((one) => ({ ...one, value: '' })));
      return true;
    } catch (error) {
      setIssues(error instanceof Refusal ? error.issues : []);
      throw error;
    }
  }

  const owner = ({ path }: Issue): number => values.findIndex((value) => path === pathOf(value));
  const isOfOrigins = ({ path }: Issue) => path === '/origins' || path.startsWith('/origins/');
  const others = issues.filter((issue) => owner(issue) < 0 && !isOfOrigins(issue));
  const options = values.flatMap(({ place, name }) => (name === '' ? [] : [`--${place} ${quote(name)}`]));
  return (
    <Part title="Its credential">
      <Known facts={facts} />
      <p class="quiet">
        Values are written and never shown again, here or anywhere. Until you set them they are in the memory of this page only: they are
        lost if you reload it or leave this place.
      </p>
      {values.map((value, at) => (
        <ValueFields
          key={at}
          at={at}
          value={value}
          problems={issues.filter((issue) => owner(issue) === at).map(({ problem }) => problem)}
          onChange={(changes) => change(at, changes)}
          onRemove={values.length > 1 ? () => setValues(values.toSpliced(at, 1)) : undefined}
        />
      ))}
      <p>
        <button type="button" onClick={() => setValues([...values, { place: 'header', name: '', value: '' }])}>
          Add a value
        </button>
      </p>
      <RecordField field={originsField} text={origins} issues={issues.filter(isOfOrigins)} onText={setOrigins} />
      <Problems id="credential-problems" problems={others.map(({ path, problem }) => `${path.slice(1)} ${problem}`)} />
      <Act
        title="Set the credential"
        command={['npx intent-gate services credential set', id, ...(options.length > 0 ? options : ['--header X-Api-Key'])].join(' ')}
        act={set}
        onDone={onChanged}
      />
      {signingKey !== undefined && (
        <div class="notice" role="status">
          <p>It is set. Calls are signed with this key, which is shown this once:</p>
          <Copyable label="Signing key" text={signingKey} />
          <button type="button" onClick={() => setSigningKey(undefined)}>
            I have it
          </button>
        </div>
      )}
      {facts && (
        <Act
          title="Remove the credential"
          isDangerous
          command={`npx intent-gate services credential remove ${id}`}
          act={() => ask('DELETE', path, { as: 'admin' })}
          onDone={onChanged}
        />
      )}
    </Part>
  );
}

function Known({ facts }: Pick<CredentialProps, 'facts'>) {
  if (facts === undefined) return null;
  if (facts === null) return <p>It has none: calls go out without one.</p>;
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

interface ValueFieldsProps {
  at: number;
  value: Value;
  problems: string[];
  onChange(changes: Partial<Value>): void;
  onRemove: (() => void) | undefined;
}

function ValueFields({ at, value: { place, name, value }, problems, onChange, onRemove }: ValueFieldsProps) {
  const id = (part: string) => `credential-${part}-${at}`;
  const shared = { 'aria-invalid': problems.length > 0, 'aria-describedby': id('problems') };
  return (
    <fieldset class="field">
      <legend>Value {at + 1}</legend>
      <label for={id('place')}>Place</label>
      <select id={id('place')} value={place} onChange={({ currentTarget }) => onChange({ place: currentTarget.value as Place })}>
        {Object.entries(places).map(([key, { label }]) => (
          <option key={key} value={key}>
            {label}
          </option>
        ))}
      </select>
      <label for={id('name')}>Name, for example {place.endsWith('query') ? 'api_key' : 'Authorization or X-Api-Key'}</label>
      <input
        {...shared}
        id={id('name')}
        type="text"
        autocomplete="off"
        value={name}
        onInput={({ currentTarget }) => onChange({ name: currentTarget.value })}
      />
      <label for={id('value')}>Its value</label>
      <input
        {...shared}
        id={id('value')}
        type="password"
        autocomplete="off"
        value={value}
        onInput={({ currentTarget }) => onChange({ value: currentTarget.value })}
      />
      <Problems id={id('problems')} problems={problems} />
      {onRemove && (
        <button type="button" class="plain" aria-label={`Leave it out: value ${at + 1}`} onClick={onRemove}>
          Leave it out
        </button>
      )}
    </fieldset>
  );
}

/** The values that the service has, else those that its document asks for: without what they are. */
function startWith(facts: Facts | null | undefined, suggested: URLSearchParams): Value[] {
  const namesOf = (place: 'header' | 'query') => (place === 'header' ? facts?.headers : facts?.query) ?? suggested.getAll(place);
  const found = (['header', 'query'] as const).flatMap((place) => namesOf(place).map((name) => ({ place, name, value: '' })));
  return found.length > 0 ? found : [{ place: 'header', name: '', value: '' }];
}

const pathOf = ({ place, name }: Value): string => pointer([...places[place].path, name]);

/** The body that the fields stand for. What is empty altogether is left out. */
function readBody(values: readonly Value[], origins: string): { body: CredentialInput; repeated: Issue[] } {
  const first: Record<string, Record<string, string>> = {};
  const next: typeof first = {};
  const repeated: Issue[] = [];
  for (const given of values.filter(({ name, value }) => name !== '' || value !== '')) {
    const { place, name, value } = given;
    const into = place.startsWith('next') ? next : first;
    const kind = place.endsWith('query') ? 'query' : 'headers';
    if (Object.hasOwn(into[kind] ?? {}, name)) repeated.push({ path: pathOf(given), problem: 'must not have the name of another one' });
    into[kind] = { ...into[kind], [name]: value };
  }
  const listed = origins.split(',').flatMap((origin) => origin.trim() || []);
  const body = { ...first, ...(Object.keys(next).length > 0 && { next }), ...(listed.length > 0 && { origins: listed }) };
  return { body, repeated };
}
