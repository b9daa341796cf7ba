import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type JudgedIntent, judgedIntent } from '../../functions/core/policy/conditions.ts';
import type { CataloguePage } from '../../schemas/intent-pages.ts';
import type { Policy } from '../../schemas/policy.ts';
import type { ServiceList } from '../../schemas/service.ts';
import { FilterBar, type Filters, filterNames, NothingFound } from './catalogue-filters.tsx';
import { Pages, useFirst } from './components/controls.tsx';
import { Icon } from './components/icon.tsx';
import { Failure, Skeleton } from './components/states.tsx';
import { Badge, Heading, Link, Part, Shown } from './components/text.tsx';
import { deployment } from './deployment.ts';
import { useRead, useServices } from './gate.ts';
import { Hit } from './hit.tsx';
import { readTerms, type Terms } from './policy-terms.ts';
import { go, linkTo } from './route.ts';

/** Debounce delay of the search, in milliseconds. */
const typingMs = 40;

/** Reads the policy in force, to look up the terms of intents. */
export function useTerms(): { termsOf(intent: JudgedIntent): Terms | undefined; isLoading: boolean } {
  const { answer, error } = useRead<Policy>('/api/policy');
  const policy = answer?.value;
  const termsOf = useMemo(() => (policy ? readTerms(policy, deployment.publicUrl) : () => undefined), [policy]);
  return { termsOf, isLoading: policy === undefined && error === undefined };
}

/** All operations, with search as you type. */
export function Catalogue({ query }: { query: URLSearchParams }) {
  const filters = Object.fromEntries(filterNames.map((name) => [name, query.get(name) ?? ''])) as Filters;
  const page = query.get('page') ?? '1';
  const { service: service_name, ...rest } = filters;
  const { answer, error, isLoading, reload } = useRead<CataloguePage>('/api/intents/search', {
    ...rest,
    service_name,
    page,
    page_size: '20',
    view: 'catalogue',
  });
  const { answer: services, error: servicesError } = useServices();
  const { termsOf, isLoading: isPolicyLoading } = useTerms();
  const list = useRef<HTMLElement>(null);
  const show = (changed: Partial<Filters> & { page?: string }, isReplacing = false) => {
    const { page = '', ...next } = { ...filters, ...changed };
    go(linkTo([], { ...next, page: page === '1' ? '' : page }), { isReplacing });
  };
  const isHome = filterNames.every((name) => filters[name] === '') && page === '1';
  // show everything together, so that nothing moves
  const isShown = answer !== undefined && !isPolicyLoading && (!isHome || services !== undefined || servicesError !== undefined);
  const { intents = [], pagination } = answer?.value ?? {};

  /** Moves the focus between the search field and the hits with the arrow keys. */
  function onKeyDown(event: KeyboardEvent): void {
    const hits = [...(list.current?.querySelectorAll<HTMLElement>('a[data-hit]') ?? [])];
    const field = list.current?.querySelector<HTMLElement>('#query');
    const at = hits.indexOf(document.activeElement as HTMLElement);
    const isInField = document.activeElement === field;
    if (at < 0 && !isInField) return;
    if (event.key === 'ArrowDown') hits[Math.min(at + 1, hits.length - 1)]?.focus();
    else if (event.key === 'ArrowUp' && !isInField) (hits[at - 1] ?? field)?.focus();
    else if (event.key === 'Escape' && !isInField) field?.focus();
    else if (event.key === 'Enter' && isInField && !isLoading && (field as HTMLInputElement).value === filters.query) hits[0]?.click();
    else return;
    event.preventDefault();
  }

  return (
    <section ref={list} onKeyDown={onKeyDown} aria-label="Catalogue">
      <Heading title="Catalogue">Explore operations</Heading>
      <p class="lead">Search third-party API operations, check what the policy allows, and run them here or from an AI agent.</p>
      <search>
        <SearchField text={filters.query} onText={(text) => show({ query: text }, true)} />
        <FilterBar filters={filters} services={services ?? []} tags={tagsOf(intents)} onFilter={show} />
      </search>
      <Failure error={error} retry={reload} />
      {isHome && isShown && <ServiceCards services={services ?? []} error={servicesError} />}
      {!isShown && error === undefined && <Skeleton rows={9} />}
      {isShown && (
        <>
          <p role="status" class="quiet" aria-busy={isLoading}>
            {countOf(pagination?.total_results ?? 0)}
          </p>
          {intents.length === 0 && <NothingFound filters={filters} />}
          <ul class="list hits">
            {intents.map((intent) => (
              <Hit key={intent.intent_uid} intent={intent} terms={termsOf(judgedIntent({ ...intent, endpoint: intent }, intent))} />
            ))}
          </ul>
          {pagination && <Pages page={Number(page)} of={pagination.total_pages} onPage={(next) => show({ page: String(next) })} />}
        </>
      )}
    </section>
  );
}

const countOf = (count: number): string => `${count.toLocaleString('en')} ${count === 1 ? 'operation' : 'operations'}`;

/** The tags of the found intents, most frequent first. */
function tagsOf(found: CataloguePage['intents']): string[] {
  const groups = Map.groupBy(
    found.flatMap(({ tags }) => tags),
    (tag) => tag,
  );
  return [...groups].sort(([, one], [, other]) => other.length - one.length).map(([tag]) => tag);
}

let isFocusWanted = false;

/** Makes the key `/` focus the search field, except while typing in a field. */
export function useSearchKey(): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { target } = event;
      const isTyping = target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      const field = document.getElementById('query');
      if (field) {
        field.focus();
        return;
      }
      isFocusWanted = true;
      go(linkTo([]));
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
}

/** The search input, which updates immediately; the URL updates once typing pauses. */
function SearchField({ text, onText }: { text: string; onText(text: string): void }) {
  const [typed, setTyped] = useState(text);
  const timer = useRef(0);
  const field = useRef<HTMLInputElement>(null);
  const sent = useRef(new Set<string>());
  useEffect(() => {
    // ignore URLs that this field has set, which may be older than the input
    if (document.activeElement !== field.current || !sent.current.has(text)) setTyped(text);
  }, [text]);
  useEffect(() => {
    if (isFocusWanted) field.current?.focus();
    isFocusWanted = false;
    return () => clearTimeout(timer.current);
  }, []);
  return (
    <div class="query">
      <Icon name="search" />
      <input
        id="query"
        ref={field}
        type="search"
        aria-label="Search"
        value={typed}
        maxLength={10_000}
        autocomplete="off"
        placeholder="In your own words: what time is it in Tokyo"
        aria-keyshortcuts="/"
        onInput={({ currentTarget: { value } }) => {
          setTyped(value);
          clearTimeout(timer.current);
          timer.current = window.setTimeout(() => {
            sent.current.add(value);
            onText(value);
          }, typingMs);
        }}
      />
      <span class="key" aria-hidden="true">
        /
      </span>
    </div>
  );
}

/** Cards of services, without logos, because the page loads nothing from third-party servers. */
function ServiceCards({ services, error }: { services: ServiceList['services']; error: unknown }) {
  const [shown, more] = useFirst(services, 12);
  if (services.length === 0) return <Failure error={error} />;
  return (
    <Part title={`Services (${services.length})`}>
      <ul class="cards">
        {shown.map(({ service_id, service_name, description, intents, paused }) => (
          <li key={service_id}>
            <h3>
              <Link to={linkTo([], { service: service_name })} text={service_name} /> {paused && <Badge tone="bad">paused</Badge>}
            </h3>
            <p class="brief">
              <Shown text={description} />
            </p>
            <p class="quiet">{countOf(intents)}</p>
          </li>
        ))}
      </ul>
      {more}
    </Part>
  );
}
