import { useState } from 'preact/hooks';
import type * as z from 'zod';
import type { credentialTest, serviceConnections } from '../../../schemas/connections/connections.ts';
import type { Issue } from '../../../schemas/errors.ts';
import { Act } from '../admin/act.tsx';
import { putCredential } from '../admin/credential.tsx';
import { FieldGroups } from '../admin/record-form.tsx';
import { Items, Part, Shown, Time } from '../components/text.tsx';
import { type Field, type Typed, typeValue } from '../field-values.ts';
import { ask, useRead } from '../gate.ts';
import type { AdminSection, ShownCredential } from '../section.ts';

type Status = z.infer<typeof serviceConnections>;

export const connectionsView: AdminSection = { path: 'connections', AboutCredential: OAuthClient };

const text = { type: 'string' } as const;

const fields: readonly Field[] = [
  {
    ...{ ...text, name: 'grant', label: 'Token', enum: ['client', 'person'], required: true },
    labels: ["the gate's own", "the person's"],
    hint: 'With their own token, each person connects once, in the browser',
  },
  { ...text, name: 'issuer', label: 'Issuer', hint: 'The gate reads its metadata' },
  { ...text, isRare: true, name: 'token_endpoint', label: 'Token endpoint', hint: 'Only if the issuer publishes no metadata' },
  {
    ...text,
    isRare: true,
    name: 'authorization_endpoint',
    label: 'Authorization endpoint',
    hint: 'Only if people connect and the issuer publishes no metadata',
  },
  { ...text, name: 'client_id', label: 'Client id', hint: 'As registered at the issuer', required: true },
  { ...text, name: 'client_secret', label: 'Client secret', control: 'secret', hint: 'Empty for a public client' },
  { name: 'scopes', label: 'Scopes', type: 'array', control: 'list', hint: 'Separated by commas' },
  { ...text, isRare: true, name: 'audience', label: 'Audience', hint: 'Only if the issuer requires it' },
  { ...text, isRare: true, name: 'resource', label: 'Resource', hint: 'Only if the issuer requires it (RFC 8707)' },
].map((field): Field => ({ ...(field as Field), path: ['oauth', field.name] }));

/** The client at an issuer as which the gate obtains tokens for a service: what is known of it, and a form to set it. */
function OAuthClient({ id, facts, suggested, onChanged }: ShownCredential) {
  const known = facts?.oauth ?? JSON.parse(suggested.get('oauth') ?? '{}');
  const shown: Typed = Object.fromEntries(fields.map((field) => [field.name, typeValue(field, known[field.name])]));
  const [typed, setTyped] = useState(shown);
  const [issues, setIssues] = useState<Issue[]>([]);

  async function set(): Promise<boolean> {
    if (!(await putCredential(id, fields, typed, setIssues))) return false;
    setTyped({ ...typed, client_secret: '' });
    return true;
  }

  return (
    <Part title="OAuth client">
      <p class="quiet">Instead of a fixed credential, the gate can get OAuth tokens: one for itself, or one for each person.</p>
      {facts?.oauth && <State key={facts.set_at} id={id} />}
      <FieldGroups fields={fields} shown={shown} typed={typed} issues={issues} onTyped={setTyped} />
      <Act
        title="Set the OAuth client"
        command={`services credential oauth ${id} --grant ${typed.grant || 'client'} --issuer ${typed.issuer || 'https://issuer.example'} --client-id ${typed.client_id || 'ID'}`}
        act={set}
        onDone={onChanged}
      />
    </Part>
  );
}

/** How many people are connected, what the issuer said last, and a test. */
function State({ id }: { id: string }) {
  const { answer, reload } = useRead<Status>(`/api/services/${id}/connections`, {}, 'admin');
  const [tested, setTested] = useState<z.infer<typeof credentialTest>>();
  const { people, failure, redirect_uri, renew_at } = answer?.value ?? {};
  return (
    <>
      {people !== undefined && <p>{people === 1 ? '1 person is connected.' : `${people} people are connected.`}</p>}
      {redirect_uri !== undefined && (
        <p>
          Register this redirect URI at the issuer: <code>{redirect_uri}</code>
        </p>
      )}
      {renew_at !== undefined && (
        <p>
          The gate has a token. It renews it at <Time at={renew_at} />.
        </p>
      )}
      {failure && (
        <p class="notice">
          At <Time at={failure.at} /> the issuer refused a token:{' '}
          <Shown text={[failure.error, failure.description].filter(Boolean).join(': ') || 'no reason given'} />
        </p>
      )}
      <Act
        title="Test"
        command={`services credential test ${id}`}
        act={async () => {
          setTested((await ask<z.infer<typeof credentialTest>>('POST', `/api/services/${id}/credential/test`, { isAdmin: true })).value);
          reload();
        }}
      />
      {tested && (
        <div class="notice" role="status">
          <Items
            title={tested.ok ? 'It works.' : 'It does not work.'}
            texts={[tested.error, tested.description, tested.token_endpoint && `Token endpoint: ${tested.token_endpoint}`].flatMap(
              (line) => line ?? [],
            )}
          />
        </div>
      )}
    </>
  );
}
