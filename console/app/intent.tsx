import { useState } from 'preact/hooks';
import { judgedIntent } from '../../functions/core/policy/conditions.ts';
import type { FullIntent } from '../../schemas/intent.ts';
import { parseExact } from '../../schemas/number.ts';
import type { Parameter } from '../../schemas/parameter.ts';
import { Allowance, useTerms } from './catalogue.tsx';
import { listSamples } from './code-samples.ts';
import { Copyable } from './components/copyable.tsx';
import { Failure } from './components/failure.tsx';
import { Heading, Part } from './components/heading.tsx';
import { Table } from './components/table.tsx';
import { Choice } from './components/tabs.tsx';
import { Items, Link, Shown, Way } from './components/text.tsx';
import { deployment } from './deployment.ts';
import { describeType, exampleValues, readParameters, type Typed, typeValues } from './field-values.ts';
import { useRead } from './gate.ts';
import type { Terms } from './policy-terms.ts';
import { linkTo } from './route.ts';
import { Run } from './run.tsx';
import { session } from './session.ts';
import { useDraft, useStore } from './store.ts';

export function IntentView({ uid, query }: { uid: string; query: URLSearchParams }) {
  const isAdmin = useStore(session)?.tokens !== undefined;
  const { answer, error, reload } = useRead<FullIntent>(
    `/api/intents/${encodeURIComponent(uid)}`,
    { view: 'full' },
    isAdmin ? 'admin' : undefined,
  );
  const { termsOf } = useTerms();
  if (error !== undefined) {
    return (
      <>
        <Heading title={uid} />
        <Failure error={error} retry={reload} />
        <Way to={linkTo([])} title="Back to the catalogue" />
      </>
    );
  }
  if (answer === undefined) return <p role="status">Loading …</p>;
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
  const [typed, setTyped] = useDraft<Typed>(`typed ${intent.intent_uid}`, startWith(inputs, given));
  return (
    <article>
      <p>
        <a href={linkTo([])}>Catalogue</a> › <Link to={linkTo([], { service: intent.service_name })} text={intent.service_name} />
      </p>
      <Heading title={intent.intent_name} />
      <p class="badges">
        <Allowance terms={terms} />
        {intent.deprecated && <span class="badge bad">deprecated</span>}
        {intent.draft && <span class="badge">draft</span>}
        {intent.paused && <span class="badge bad">paused</span>}
        {intent.tags.map((tag) => (
          <a key={tag} class="tag" href={linkTo([], { tags: tag })}>
            <Shown text={tag} />
          </a>
        ))}
        {isAdmin && <a href={linkTo(['intents', intent.intent_uid, 'edit'])}>Edit</a>}
      </p>
      <p class="description">
        <Shown text={intent.description} />
      </p>
      <p class="quiet">
        <code>{intent.intent_uid}</code>
      </p>
      <Part title="Run it">
        <Run
          intent={intent}
          typed={typed}
          onTyped={setTyped}
          isRunnable={!['prohibited', 'not permitted'].includes(terms?.access ?? '') && !intent.deprecated && !intent.draft}
        />
      </Part>
      <Part title="Policy">
        <Items texts={terms?.sentences ?? []} />
        <Way to={linkTo(['policy'])} title="The whole policy" />
      </Part>
      <Part title="Answer">
        {intent.output_parameters.length === 0 && <p>The service does not describe its answer.</p>}
        <Table
          label="Members of the answer"
          heads={['Name', 'Type', 'Meaning']}
          rows={intent.output_parameters.map((output) => [output.name, describeType(output), output.description])}
        />
        <p class="quiet">
          It calls{' '}
          <code>
            {intent.endpoint.method} <Shown text={intent.endpoint.url} />
          </code>
        </p>
      </Part>
      <Samples uid={intent.intent_uid} parameters={sampleOf(inputs, typed)} />
    </article>
  );
}

/** What an address brings along, as the list of calls does. */
function startWith(inputs: readonly Parameter[], given: string | null): Typed {
  if (given === null) return {};
  try {
    return typeValues(inputs, parseExact(given) as Record<string, unknown>);
  } catch {
    return {};
  }
}

/** What somebody has typed, if it is a request already; else an example. */
function sampleOf(inputs: readonly Parameter[], typed: Typed): Record<string, unknown> {
  const { values } = readParameters(
    inputs.map(({ pattern: _, ...rest }) => rest),
    typed,
  );
  return { ...exampleValues(inputs), ...values };
}

function Samples({ uid, parameters }: { uid: string; parameters: Record<string, unknown> }) {
  const samples = listSamples(deployment.publicUrl, uid, parameters);
  const [language, setLanguage] = useState('curl');
  return (
    <Part title="From a program">
      <Choice title="Language" options={Object.keys(samples)} chosen={[language]} onChoose={setLanguage} />
      <Copyable label={`The call in ${language}`} text={samples[language] ?? ''} />
    </Part>
  );
}
