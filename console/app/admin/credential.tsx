import { useState } from 'preact/hooks';
import type * as z from 'zod';
import { toBase64 } from '../../../client/bytes.ts';
import { Refusal } from '../../../client/errors.ts';
import { issuesOf } from '../../../functions/core/json/json.ts';
import type { ImportPlan } from '../../../registry/import/plan.ts';
import { quote } from '../../../registry/shell-words.ts';
import type { savedCredential } from '../../../schemas/credential.ts';
import { credentialInput } from '../../../schemas/credential-input.ts';
import type { Issue } from '../../../schemas/errors.ts';
import { otherProblems, Problems } from '../components/field.tsx';
import { Fields } from '../components/fields.tsx';
import { Badge, Items, Part, Shown, Time } from '../components/text.tsx';
import { type Field, type Typed, typeValue } from '../field-values.ts';
import { ask } from '../gate.ts';
import type { ShownCredential } from '../section.ts';
import { keep, readKept } from '../store.ts';
import { Act } from './act.tsx';
import { readRecord } from './record-form.tsx';

/** The command's options for the names of the values, by field. */
const options = { headers: 'header', query: 'query', 'next/headers': 'next-header', 'next/query': 'next-query' };

const values = { type: 'object', control: 'secrets' } as const;
const nextHint = 'Used if the service rejects the current ones';

const secret = { type: 'string', control: 'secret', required: true, path: ['headers', 'Authorization'] } as const;

const kind = {
  name: 'kind',
  label: 'Kind',
  type: 'string',
  enum: ['bearer', 'basic', 'custom'],
  labels: ['Bearer token', 'Name and password (Basic)', 'Header fields and query parameters'],
  required: true,
  hint: '',
} as const satisfies Field;

type Kind = (typeof kind.enum)[number];

const user: Field = { name: 'user', label: 'Name', type: 'string', required: true, hint: '' };

const fieldsOf: Record<Kind, readonly Field[]> = {
  bearer: [{ ...secret, name: 'token', label: 'Token', hint: 'Sent as Authorization: Bearer …' }],
  basic: [{ ...secret, name: 'password', label: 'Password', hint: 'Sent with the name as Authorization: Basic …' }],
  custom: [
    { ...values, name: 'headers', label: 'Header fields', hint: 'For example X-Api-Key' },
    { ...values, name: 'query', label: 'Query parameters', hint: 'For example api_key' },
  ],
};

const more: readonly Field[] = [
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
  return { headers: textOf(headers), query: textOf(query), 'next/headers': '', 'next/query': '', token: '', user: '', password: '' };
};

/** What is first in the form: what is set, unless it is an OAuth client, which a fixed credential would replace, or what the document requires. */
function startWith(facts: ShownCredential['facts'], suggested: URLSearchParams): Typed {
  const known = facts?.oauth ? undefined : facts;
  const scheme = known ? undefined : kind.enum.find((one) => one === suggested.get('scheme'));
  const names = scheme || facts?.oauth ? [] : suggested.getAll('header');
  return { ...typeNames(known?.headers ?? names, known?.query ?? suggested.getAll('query')), kind: typeValue(kind, scheme ?? 'custom') };
}

/** What is typed, with the value of Authorization instead of a token or password. */
function withAuthorization(chosen: Kind, typed: Typed): Typed {
  const { token = '', user: name = '', password = '' } = typed;
  const pair = toBase64(new TextEncoder().encode(`${name}:${password}`));
  if (chosen === 'bearer' && token !== '') return { ...typed, token: `Bearer ${token.replace(/^Bearer +/i, '')}` };
  return chosen === 'basic' && password !== '' ? { ...typed, password: `Basic ${pair}` } : typed;
}

const suggestedName = (serviceId: string) => `credential ${serviceId}`;

/** Keeps what an imported document requires, until the tab is closed. */
export function keepSuggested(serviceId: string, { credentialLocations, oauth }: ImportPlan): void {
  const query = new URLSearchParams(credentialLocations.map(({ kind, name }) => [kind, name]));
  const scheme = credentialLocations.find((location) => location.scheme)?.scheme;
  if (scheme) query.set('scheme', scheme);
  if (oauth) query.set('oauth', JSON.stringify(oauth));
  keep(suggestedName(serviceId), query.size > 0 ? query.toString() : undefined);
}

export const suggestedFor = (serviceId: string) => new URLSearchParams(readKept(suggestedName(serviceId), ''));

/** Whether the document imported in this tab requires a credential, and none is set. */
export const isCredentialMissing = (serviceId: string, facts: unknown): boolean => facts === null && suggestedFor(serviceId).size > 0;

/** Shows facts about the credential, never a value, and a form to set it. Values are kept only in memory, until they are sent. */
export function Credential({ id, facts, suggested, onChanged }: ShownCredential) {
  const path = `/api/services/${id}/credential`;
  const [typed, setTyped] = useState(() => startWith(facts, suggested));
  const [issues, setIssues] = useState<Issue[]>([]);
  const [warnings, setWarnings] = useState<string[]>([]);
  const chosen: Kind = JSON.parse(typed.kind || '"custom"');
  const fields = [...fieldsOf[chosen], ...more];

  async function set(): Promise<boolean> {
    const { body } = readRecord(fields, withAuthorization(chosen, typed), {});
    const checked = credentialInput.safeParse(body, { reportInput: true });
    setIssues(checked.success ? [] : issuesOf(checked.error));
    if (!checked.success) return false;
    try {
      const { value } = await ask<z.infer<typeof savedCredential>>('PUT', path, { body, isAdmin: true });
      setWarnings(value.warnings ?? []);
      setTyped({ ...typed, ...(chosen === 'custom' ? typeNames(value.headers, value.query) : typeNames([], [])) });
      return true;
    } catch (error) {
      setIssues(error instanceof Refusal ? error.issues : []);
      throw error;
    }
  }

  const named = Object.entries(options).flatMap(([field, option]) =>
    Object.keys(JSON.parse(typed[field] || '{}')).map((name) => `--${option} ${quote(name)}`),
  );
  const own = chosen === 'custom' ? (named.length > 0 ? named : ['--header X-Api-Key']) : [`--${chosen}`];
  const given = { typed, issues, onTyped: setTyped };
  return (
    <Part title="Credential">
      <Known facts={facts} isRequired={isCredentialMissing(id, facts)} />
      <details open={!facts?.oauth}>
        <summary>{facts?.oauth ? 'Replace the OAuth client by a fixed credential' : 'Fixed credential'}</summary>
        <p class="quiet">Values are never shown again. Unsaved values are lost when you leave this page.</p>
        <Fields fields={[kind]} {...given} />
        <div class="fields">
          <Fields fields={[...(chosen === 'basic' ? [user] : []), ...fieldsOf[chosen]]} {...given} />
        </div>
        <details open={otherProblems(more, issues).length < issues.length}>
          <summary>Rotation and allowed origins</summary>
          <div class="fields">
            <Fields fields={more} {...given} />
          </div>
        </details>
        <Problems problems={otherProblems(fields, issues)} />
        <Act title="Set the credential" command={['services credential set', id, ...own].join(' ')} act={set} onDone={onChanged} />
      </details>
      {warnings.length > 0 && !facts?.oauth && (
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

function Known({ facts, isRequired }: Pick<ShownCredential, 'facts'> & { isRequired: boolean }) {
  if (facts === undefined) return null;
  if (facts === null) {
    return (
      <p>
        {isRequired && <Badge tone="warn">missing</Badge>} No credential is set, so calls are sent without one.
        {isRequired && ' The imported document requires one.'}
      </p>
    );
  }
  const names = facts.oauth ? ['OAuth client'] : [...facts.headers, ...facts.query];
  return (
    <p>
      Credential set: <Shown text={names.join(', ')} />, sent only to <Shown text={facts.origins.join(', ')} />
      {facts.set_by && (
        <>
          , by <Shown text={facts.set_by} />
        </>
      )}
      , <Time at={facts.set_at} />
    </p>
  );
}
