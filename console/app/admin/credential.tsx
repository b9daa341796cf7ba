import { useState } from 'preact/hooks';
import type * as z from 'zod';
import { Refusal } from '../../../client/errors.ts';
import { issuesOf } from '../../../functions/core/json/json.ts';
import { quote } from '../../../registry/shell-words.ts';
import type { savedCredential } from '../../../schemas/credential.ts';
import { credentialInput } from '../../../schemas/credential-input.ts';
import type { Issue } from '../../../schemas/errors.ts';
import { otherProblems, Problems } from '../components/field.tsx';
import { Fields } from '../components/fields.tsx';
import { Items, Part, Shown, Time } from '../components/text.tsx';
import type { Field, Typed } from '../field-values.ts';
import { ask } from '../gate.ts';
import type { ShownCredential } from '../section.ts';
import { Act } from './act.tsx';
import { readRecord } from './record-form.tsx';

/** The command's options for the names of the values, by field. */
const options = { headers: 'header', query: 'query', 'next/headers': 'next-header', 'next/query': 'next-query' };

const values = { type: 'object', control: 'secrets' } as const;
const nextHint = 'Used if the service rejects the current ones';

const fields: readonly Field[] = [
  { ...values, name: 'headers', label: 'Header fields', hint: 'For example Authorization or X-Api-Key' },
  { ...values, name: 'query', label: 'Query parameters', hint: 'For example api_key' },
  { ...values, name: 'next/headers', path: ['next', 'headers'], label: 'Next header values', hint: nextHint },
  { ...values, name: 'next/query', path: ['next', 'query'], label: 'Next query values', hint: nextHint },
  {
    name: 'origins',
    label: 'Allowed origins',
    type: 'array',
    control: 'list',
    hint: 'The credential is sent only to these, separated by commas; default: the origin of the API URL',
  },
];

/** Fields with these names, and without values. */
const typeNames = (headers: readonly string[], query: readonly string[]): Typed => {
  const textOf = (names: readonly string[]) =>
    names.length === 0 ? '' : JSON.stringify(Object.fromEntries(names.map((name) => [name, ''])));
  return { headers: textOf(headers), query: textOf(query), 'next/headers': '', 'next/query': '' };
};

/** Shows facts about the credential, never a value, and a form to set it. Values are kept only in memory, until they are sent. */
export function Credential({ id, facts, suggested, onChanged }: ShownCredential) {
  const path = `/api/services/${id}/credential`;
  const [typed, setTyped] = useState(() =>
    typeNames(facts?.headers ?? suggested.getAll('header'), facts?.query ?? suggested.getAll('query')),
  );
  const [issues, setIssues] = useState<Issue[]>([]);
  const [warnings, setWarnings] = useState<string[]>([]);

  async function set(): Promise<boolean> {
    const { body } = readRecord(fields, typed, {});
    const checked = credentialInput.safeParse(body, { reportInput: true });
    setIssues(checked.success ? [] : issuesOf(checked.error));
    if (!checked.success) return false;
    try {
      const { value } = await ask<z.infer<typeof savedCredential>>('PUT', path, { body, isAdmin: true });
      setWarnings(value.warnings ?? []);
      setTyped({ ...typed, ...typeNames(value.headers, value.query) });
      return true;
    } catch (error) {
      setIssues(error instanceof Refusal ? error.issues : []);
      throw error;
    }
  }

  const named = Object.entries(options).flatMap(([field, option]) =>
    Object.keys(JSON.parse(typed[field] || '{}')).map((name) => `--${option} ${quote(name)}`),
  );
  return (
    <Part title="Credential">
      <Known facts={facts} />
      <p class="quiet">Values are never shown again. Unsaved values are lost when you leave this page.</p>
      <div class="fields">
        <Fields fields={fields} typed={typed} issues={issues} onTyped={setTyped} />
      </div>
      <Problems problems={otherProblems(fields, issues)} />
      <Act
        title="Set the credential"
        command={['services credential set', id, ...(named.length > 0 ? named : ['--header X-Api-Key'])].join(' ')}
        act={set}
        onDone={onChanged}
      />
      {warnings.length > 0 && (
        <div class="notice" role="status">
          <Items title="Saved, with a warning:" texts={warnings} />
        </div>
      )}
      {facts && (
        <Act
          title="Remove the credential"
          isDangerous
          command={`services credential remove ${id}`}
          act={() => ask('DELETE', path, { isAdmin: true })}
          onDone={() => {
            setWarnings([]);
            onChanged();
          }}
        />
      )}
    </Part>
  );
}

function Known({ facts }: Pick<ShownCredential, 'facts'>) {
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
      at <Time at={facts.set_at} />:{' '}
      <Shown text={[...facts.headers, ...facts.query, ...(facts.oauth ? ['tokens that the gate obtains'] : [])].join(', ')} />, sent to{' '}
      <Shown text={facts.origins.join(', ')} /> only.
    </p>
  );
}
