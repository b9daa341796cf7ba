import { judgedIntent } from '../../functions/core/policy/conditions.ts';
import type { FullIntent } from '../../schemas/intent.ts';
import { parseExact } from '../../schemas/number.ts';
import type { Parameter } from '../../schemas/parameter.ts';
import { useTerms } from './catalogue.tsx';
import { listSamples } from './code-samples.ts';
import { Copyable } from './components/copyable.tsx';
import { Failure, Skeleton } from './components/states.tsx';
import { FoldedTable, Table } from './components/table.tsx';
import { Panels } from './components/tabs.tsx';
import { Badge, ButtonLink, Code, Heading, Items, Link, LongText, MethodBadge, Part, Shown, Way } from './components/text.tsx';
import { deployment } from './deployment.ts';
import { describeType, readParameters, type Typed, typeValues } from './field-values.ts';
import { useRead } from './gate.ts';
import { Allowance } from './hit.tsx';
import { exampleValues } from './nested.ts';
import type { Terms } from './policy-terms.ts';
import { linkTo } from './route.ts';
import { Run } from './run.tsx';
import { session } from './session.ts';
import { useDraft, useStore } from './store.ts';

export function IntentView({ uid, query }: { uid: string; query: URLSearchParams }) {
  const { isAdmin: isInGroup = false, tokens } = useStore(session) ?? {};
  const isAdmin = isInGroup && tokens !== undefined;
  const { answer, error, reload } = useRead<FullIntent>(
    `/api/intents/${encodeURIComponent(uid)}`,
    { view: 'full' },
    isAdmin ? 'admin' : undefined,
  );
  const { termsOf, isLoading } = useTerms();
  if (error !== undefined) {
    return (
      <>
        <Heading title={uid} />
        <Failure error={error} retry={reload} />
        <Way to={linkTo([])} title="Back to the catalogue" />
      </>
    );
  }
  if (answer === undefined || isLoading) return <Skeleton rows={8} />;
  const terms = termsOf(judgedIntent(answer.value, answer.value));
  return <Loaded key={uid} intent={answer.value} terms={terms} given={query.get('parameters')} isAdmin={isAdmin} />;
}

interface LoadedProps {
  intent: FullIntent;
  terms: Terms | undefined;
  given: string | null;
  isAdmin: boolean;
}

function Loaded({ intent, terms, given, isAdmin }: LoadedProps) {
  const inputs: readonly Parameter[] = intent.input_parameters;
  const [typed, setTyped] = useDraft<Typed>(`typed ${intent.intent_uid} ${given ?? ''}`, startWith(inputs, given));
  return (
    <article>
      <nav class="quiet" aria-label="Breadcrumb">
        <a href={linkTo([])}>Catalogue</a> / <Link to={linkTo([], { service: intent.service_name })} text={intent.service_name} />
      </nav>
      <div class="toolbar">
        <Heading title={intent.intent_name} />
        {isAdmin && <ButtonLink to={linkTo(['intents', intent.intent_uid, 'edit'])} title="Edit" />}
      </div>
      <p class="badges">
        <MethodBadge method={intent.endpoint.method} />
        <Allowance terms={terms} />
        {terms?.price && <Badge tone="warn">{terms.price}</Badge>}
        {intent.deprecated && <Badge tone="bad">deprecated</Badge>}
        {intent.draft && <Badge>draft</Badge>}
        {intent.paused && <Badge tone="bad">paused</Badge>}
        <code class="quiet">{intent.intent_uid}</code>
        {intent.tags.map((tag) => (
          <a key={tag} class="tag" href={linkTo([], { tags: tag })}>
            <Shown text={tag} />
          </a>
        ))}
      </p>
      <p class="prose">
        <LongText text={intent.description} maxLength={300} />
      </p>
      <Run
        intent={intent}
        typed={typed}
        onTyped={setTyped}
        isRunnable={!['prohibited', 'not permitted'].includes(terms?.access ?? '') && !intent.deprecated && !intent.draft}
      >
        <Part title="Code">
          <Samples uid={intent.intent_uid} parameters={sampleOf(inputs, typed)} />
        </Part>
        <Part title="Policy">
          <Items texts={terms?.sentences ?? []} />
          <Way to={linkTo(['policy'])} title="View full policy" />
        </Part>
        <Part title="Response">
          {intent.output_parameters.length === 0 && <p>The response is not described.</p>}
          <Returned outputs={intent.output_parameters} />
          <p class="quiet">
            Upstream:{' '}
            <code>
              {intent.endpoint.method} <Shown text={intent.endpoint.url} />
            </code>
          </p>
        </Part>
      </Run>
    </article>
  );
}

/** Number of members shown at first; more are folded. */
const maxMembers = 12;

function Returned({ outputs }: { outputs: FullIntent['output_parameters'] }) {
  const rows = outputs.map((output) => [output.name, <Code text={describeType(output)} />, output.description]);
  const table = { label: 'Members of the response', heads: ['Name', 'Type', 'Meaning'], rows };
  return rows.length > maxMembers ? <FoldedTable title="Members" {...table} /> : <Table {...table} />;
}

/** Initial field contents from the URL, as in links from the list of calls. */
function startWith(inputs: readonly Parameter[], given: string | null): Typed {
  if (given === null) return {};
  try {
    return typeValues(inputs, parseExact(given) as Record<string, unknown>);
  } catch {
    return {};
  }
}

/** Example parameters, overridden by the typed ones. */
function sampleOf(inputs: readonly Parameter[], typed: Typed): Record<string, unknown> {
  const { values } = readParameters(
    inputs.map(({ pattern: _, ...rest }) => rest),
    typed,
  );
  return { ...exampleValues(inputs), ...values };
}

const Samples = ({ uid, parameters }: { uid: string; parameters: Record<string, unknown> }) => (
  <Panels
    label="Language"
    panels={Object.fromEntries(
      Object.entries(listSamples(deployment.publicUrl, uid, parameters)).map(([language, text]) => [
        language,
        () => <Sample language={language} text={text} />,
      ]),
    )}
  />
);

/** A sample, whose call is shown before the commands that get a PAT for it. */
function Sample({ language, text }: { language: string; text: string }) {
  const [, head = '', preparation, call = ''] = /^(.*?)(^BASE_URL=.*?^: [^\n]*\n)\n(.*)$/ms.exec(text) ?? [];
  return (
    <>
      <Copyable label={`${language} code`} text={preparation === undefined ? text : head + call} />
      {preparation && (
        <details>
          <summary>First, get a PAT</summary>
          <Copyable label="Commands that get a PAT" text={preparation} />
        </details>
      )}
    </>
  );
}
