import { useState } from 'preact/hooks';
import type { Exchange } from '../../client/http.ts';
import { obtainPat } from './agent.ts';
import { Button, SignIn, SubmitForm } from './components/controls.tsx';
import { Copyable } from './components/copyable.tsx';
import { FormField } from './components/field.tsx';
import { FoldedFields } from './components/fields.tsx';
import { Failure } from './components/states.tsx';
import { FoldedTable, Table } from './components/table.tsx';
import { Code, Prose, StatusBadge, Way } from './components/text.tsx';
import { deployment } from './deployment.ts';
import { readFields, type Typed } from './field-values.ts';
import { exchange } from './gate.ts';
import { type Body, type Operation, toCurl, toRequest } from './openapi.ts';
import { linkTo } from './route.ts';
import { accessToken, hasTokenEnded, onOtherUser, renewSession, session } from './session.ts';
import { openStore, useStore } from './store.ts';

/** Pasted or obtained tokens by security scheme. Kept in memory, only while the same person is signed in. */
const tokens = openStore<Record<string, string>>({});
onOtherUser(() => tokens.set({}));

export const OperationView = ({ operation }: { operation: Operation }) => (
  <>
    <Prose text={operation.description} />
    <Way to={linkTo(['reference', operation.operationId])} title="Link to this operation" />
    <RequestForm operation={operation} />
  </>
);

type Outcome = { state: 'idle' | 'sending' } | { state: 'answered'; answer: Exchange } | { state: 'failed'; error: unknown };

function RequestForm({ operation }: { operation: Operation }) {
  const { operationId, parameters, mediaType, body, scheme, isTokenRequired } = operation;
  const [typed, setTyped] = useState<Typed>({});
  const [text, setText] = useState(() => (body.example === undefined ? '' : JSON.stringify(body.example, null, 2)));
  const [outcome, setOutcome] = useState<Outcome>({ state: 'idle' });
  const given = useStore(tokens);
  useStore(session);
  const { values, issues } = readFields(parameters, typed);
  const missing = parameters.flatMap(({ required, name, label }) => (required && values[name] === undefined ? [label] : []));
  const request = toRequest(operation, values, text);

  async function findToken(): Promise<string | undefined> {
    if (scheme === undefined || given[scheme]) return scheme && given[scheme];
    if (scheme === 'pat' || accessToken() === undefined) return undefined;
    if (hasTokenEnded()) await renewSession();
    return accessToken();
  }

  async function send(): Promise<void> {
    setOutcome({ state: 'sending' });
    const { method, path, headers } = request;
    try {
      const raw = mediaType === undefined ? undefined : { text, mediaType };
      setOutcome({ state: 'answered', answer: await exchange(method, path, { headers, bearer: await findToken(), raw }) });
    } catch (error) {
      setOutcome({ state: 'failed', error });
    }
  }

  const note = missing.length > 0 ? `Fill in ${missing.join(', ')} to send the request.` : 'Sends a real request to this gate.';
  return (
    <div class="run">
      <section>
        <h3>Request</h3>
        <SubmitForm
          title="Send"
          isBusy={outcome.state === 'sending'}
          isDisabled={missing.length > 0}
          onSubmit={() => void send()}
          note={<span class="quiet">{note}</span>}
        >
          <FoldedFields fields={parameters} typed={typed} issues={issues} onTyped={setTyped} />
          {mediaType !== undefined && (
            <>
              <FormField
                field={{ name: 'body', label: 'Body', type: 'object', required: true, hint: mediaType }}
                text={text}
                onText={setText}
              />
              <Members body={body} label={`Members of the body of ${operationId}`} />
            </>
          )}
          {scheme !== undefined && <TokenField scheme={scheme} text={given[scheme] ?? ''} isRequired={isTokenRequired} />}
        </SubmitForm>
      </section>
      <div class="outcome">
        <div aria-live="polite">{outcome.state === 'answered' && <Answered answer={outcome.answer} />}</div>
        {outcome.state === 'failed' && <Failure error={outcome.error} />}
      </div>
      <aside aria-label={`Responses of ${operationId}`}>
        <h3>Command</h3>
        <Copyable
          label={`curl command for ${operationId}`}
          text={toCurl(deployment.publicUrl, request, isTokenRequired ? scheme : undefined)}
        />
        <h3>Responses</h3>
        <Responses {...operation} />
      </aside>
    </div>
  );
}

function TokenField({ scheme, text, isRequired }: { scheme: string; text: string; isRequired: boolean }) {
  const [failure, setFailure] = useState<unknown>();
  const isPat = scheme === 'pat';
  const isSignedIn = accessToken() !== undefined;
  const set = (token: string) => tokens.set({ ...tokens.get(), [scheme]: token });
  const obtain = () =>
    obtainPat().then((pat) => {
      set(pat);
      setFailure(undefined);
    }, setFailure);
  const adminHint = isSignedIn ? 'Leave it empty to use your sign-in.' : 'Paste an access token, or sign in.';
  const hint = isPat ? 'Paste a PAT, or get one: your browser signs the policy with the key of this page.' : adminHint;
  return (
    <>
      <FormField
        field={{
          name: scheme,
          label: isPat ? 'PAT' : 'Admin token',
          type: 'string',
          control: 'secret',
          required: isRequired && !isSignedIn,
          hint: isRequired ? hint : `Optional: admins see more. ${hint}`,
        }}
        text={text}
        onText={set}
      />
      <p>
        {isPat && <Button title="Get a PAT" onClick={() => void obtain()} />}
        {!isPat && !isSignedIn && <SignIn />}
      </p>
      <Failure error={failure} />
    </>
  );
}

function Answered({ answer: { status, headers, body, text, durationMs } }: { answer: Exchange }) {
  const shown = body === undefined ? text : JSON.stringify(body, null, 2);
  return (
    <>
      <h3>
        <span class="status">{status === 0 ? 'Redirect, which the browser does not show' : <StatusBadge status={status} />}</span> in{' '}
        {Math.round(durationMs)} ms
      </h3>
      {shown !== '' && <Copyable label="Response body" text={shown} />}
      <Table label="Response headers" rows={[...headers]} />
    </>
  );
}

const Members = ({ body: { members }, label }: { body: Body; label: string }) => (
  <FoldedTable
    title="Members"
    label={label}
    heads={['Name', 'Type', 'Required', 'Meaning']}
    rows={members.map(({ name, type, isRequired, description = '' }) => [
      <code>{name}</code>,
      <Code text={type} />,
      isRequired ? 'yes' : 'no',
      <Prose text={description} />,
    ])}
  />
);

/** Successful responses with examples; errors, which share one format, in a table. */
function Responses({ operationId, responses }: Pick<Operation, 'operationId' | 'responses'>) {
  const isSuccess = ({ status }: { status: string }) => /^[23]/.test(status);
  return (
    <>
      {responses.filter(isSuccess).map(({ status, description, headers, mediaType, body }) => (
        <section key={status}>
          <h4>
            {status} {mediaType}
          </h4>
          <Prose text={description} />
          {body.example !== undefined && (
            <Copyable label={`Example of ${status} of ${operationId}`} text={JSON.stringify(body.example, null, 2)} />
          )}
          <Members body={body} label={`Members of ${status} of ${operationId}`} />
          <FoldedTable
            title="Headers"
            label={`Headers of ${status} of ${operationId}`}
            rows={headers.map(([name, text]) => [name, <Prose text={text} />])}
          />
        </section>
      ))}
      <h4>Errors</h4>
      <Table
        label={`Errors of ${operationId}`}
        heads={['Status', 'Meaning']}
        rows={responses.filter((one) => !isSuccess(one)).map(({ status, description }) => [status, <Prose text={description} />])}
      />
    </>
  );
}
