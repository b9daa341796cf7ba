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
import { Fields } from '../components/fields.tsx';
import { Badge, Items, Part, Shown, Time } from '../components/text.tsx';
import { type Field, type Typed, typeValue } from '../field-values.ts';
import { ask } from '../gate.ts';
import type { ShownCredential } from '../section.ts';
import { keep, readKept } from '../store.ts';
import { Act } from './act.tsx';
import { FieldGroups, readRecord } from './record-form.tsx';

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
  { ...values, isRare: true, name: 'next/headers', path: ['next', 'headers'], label: 'Next header values', hint: nextHint },
  { ...values, isRare: true, name: 'next/query', path: ['next', 'query'], label: 'Next query values', hint: nextHint },
  {
    isRare: true,
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

/** Keeps what an imported document requires, until the tab is closed. */
export function keepSuggested(serviceId: string, { credentialLocations, oauth }: ImportPlan): void {
  const query = new URLSearchParams(credentialLocations.map(({ kind, name }) => [kind, name]));
  const scheme = credentialLocations.find((location) => location.scheme)?.scheme;
  if (scheme) query.set('scheme', scheme);
  if (oauth) query.set('oauth', JSON.stringify(oauth));
  keep(`credential ${serviceId}`, query.size > 0 ? query.toString() : undefined);
}

export const suggestedFor = (serviceId: string) => new URLSearchParams(readKept(`credential ${serviceId}`, ''));

/** Whether the document imported in this tab requires a credential, and none is set. */
export const isCredentialMissing = (serviceId: string, facts: unknown): boolean => facts === null && suggestedFor(serviceId).size > 0;

type Saved = z.infer<typeof savedCredential>;

/** Sends the credential in the fields, unless they have issues. Sets the issues, also those that the gate finds. */
export async function putCredential(
  id: string,
  fields: readonly Field[],
  typed: Typed,
  setIssues: (issues: Issue[]) => void,
): Promise<Saved | undefined> {
  const { body, issues: unread } = readRecord(fields, typed, {});
  const checked = credentialInput.safeParse(body, { reportInput: true });
  const found = [...unread, ...(checked.success ? [] : issuesOf(checked.error))];
  setIssues(found);
  if (found.length > 0) return undefined;
  try {
    return (await ask<Saved>('PUT', `/api/services/${id}/credential`, { body, isAdmin: true })).value;
  } catch (error) {
    setIssues(error instanceof Refusal ? error.issues : []);
    throw error;
  }
}

/** Shows facts about the credential, never a value, and a form to set it. Values are kept only in memory, until they are sent. */
export function Credential({ id, facts, suggested, onChanged }: ShownCredential) {
  const [typed, setTyped] = useState(() => startWith(facts, suggested));
  const [issues, setIssues] = useState<Issue[]>([]);
  const [warnings, setWarnings] = useState<string[]>([]);
  const chosen: Kind = JSON.parse(typed.kind || '"custom"');
  const fields = [...fieldsOf[chosen], ...more];

  async function set(): Promise<boolean> {
    const saved = await putCredential(id, fields, withAuthorization(chosen, typed), setIssues);
    if (!saved) return false;
    setWarnings(saved.warnings ?? []);
    setTyped({ ...typed, ...(chosen === 'custom' ? typeNames(saved.headers, saved.query) : typeNames([], [])) });
    return true;
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
        <FieldGroups
          fields={[...(chosen === 'basic' ? [user] : []), ...fields]}
          shown={{}}
          title="Rotation and allowed origins"
          {...given}
        />
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
          act={() => ask('DELETE', `/api/services/${id}/credential`, { isAdmin: true })}
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
