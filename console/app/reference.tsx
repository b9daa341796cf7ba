import { useEffect, useMemo } from 'preact/hooks';
import { errorTable } from '../../schemas/errors.ts';
import type { ApiDocument } from '../../schemas/openapi.ts';
import { Fold, useFilter } from './components/controls.tsx';
import { Awaited } from './components/states.tsx';
import { Table } from './components/table.tsx';
import { Badge, Heading, MethodBadge, Part, Prose } from './components/text.tsx';
import { protocol } from './deployment.ts';
import { useRead } from './gate.ts';
import { listOperations, type Operation } from './openapi.ts';
import { OperationView } from './operation.tsx';
import { linkTo, type Route } from './route.ts';

/** The API reference: all operations of the OpenAPI document, and the errors. `selected` is an operation, an error or `errors`. */
export function ReferenceView({ path: [, selected = ''] }: Route) {
  const reading = useRead<ApiDocument>('/openapi.json');
  const { answer, error } = reading;
  const all = useMemo(() => (answer ? listOperations(answer.value) : []), [answer]);
  const { matches, field } = useFilter('operations');
  const operations = all.filter(({ method, path, summary }) => matches(`${method} ${path} ${summary}`));
  const groups = (answer?.value.tags ?? []).flatMap(({ name, description }) => {
    const own = operations.filter(({ tags }) => tags.includes(name));
    return own.length === 0 ? [] : [{ name, description, own }];
  });
  useEffect(() => document.getElementById(selected)?.scrollIntoView(), [selected, answer]);
  return (
    <>
      <Heading title="API reference" />
      <ol>
        <li>
          <a href={linkTo(['reference', 'search-intents'])}>Search</a> in plain words for an intent, an operation of a web service.
        </li>
        <li>
          Read the <a href={linkTo(['policy'])}>policy</a>, sign it with a key of your own, and{' '}
          <a href={linkTo(['reference', 'issue-pat'])}>get a PAT</a>, a Policy Adherence Token.
        </li>
        <li>
          <a href={linkTo(['reference', 'execute-intent'])}>Execute</a> the intent with the PAT.
        </li>
      </ol>
      <p>
        See also the <a href=".well-known/jwks.json">keys that verify PATs</a> and the <a href={linkTo(['reference', 'errors'])}>errors</a>.
      </p>
      <Awaited reading={reading} rows={10} />
      <div class="reference">
        {answer && (
          <nav aria-label="Operations">
            {field}
            {groups.map(({ name, own }) => (
              <section key={name}>
                <p>{name}</p>
                {own.map(({ operationId, summary }) => (
                  <a
                    key={operationId}
                    href={linkTo(['reference', operationId])}
                    aria-current={operationId === selected ? 'location' : undefined}
                  >
                    {summary}
                  </a>
                ))}
              </section>
            ))}
          </nav>
        )}
        <div>
          {groups.map(({ name, description, own }) => (
            <Part key={name} title={name}>
              <Prose text={description} />
              {own.map((operation) => (
                <Folded key={operation.operationId} operation={operation} isSelected={operation.operationId === selected} />
              ))}
            </Part>
          ))}
          {answer && groups.length === 0 && <p role="status">No operations match.</p>}
          {(answer || error) && <Errors selected={selected} />}
        </div>
      </div>
    </>
  );
}

const Errors = ({ selected }: { selected: string }) => (
  <Part title="Errors" id="errors">
    <p>
      Every response other than 2xx is <code>{'{"error":{"code","message","details"}}'}</code>. The message says what went wrong and what to
      do next; <code>details.request_id</code> identifies the request.
    </p>
    <Table
      label="Error codes"
      heads={['Code', 'Status', 'Reference', 'Meaning']}
      rows={Object.entries(errorTable).map(([code, { status, reference, meaning }]) => [
        <code id={code} aria-current={code === selected ? 'location' : undefined}>
          {code}
        </code>,
        status,
        `${protocol}-${reference}`,
        <Prose text={meaning} />,
      ])}
    />
  </Part>
);

const Folded = ({ operation, isSelected }: { operation: Operation; isSelected: boolean }) => (
  <Fold
    class="operation"
    id={operation.operationId}
    isOpen={isSelected}
    summary={
      <>
        <MethodBadge method={operation.method} />
        <code>{operation.path}</code>
        <span>{operation.summary}</span>
        {operation.isTokenRequired && <Badge>token</Badge>}
      </>
    }
  >
    {() => <OperationView operation={operation} />}
  </Fold>
);
