import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { JudgedIntent } from '../../functions/core/policy/conditions.ts';
import type { IntentDetails } from '../../schemas/intent.ts';
import type { Policy } from '../../schemas/policy.ts';
import { Failure } from './components/failure.tsx';
import { Heading } from './components/heading.tsx';
import { Pages } from './components/pages.tsx';
import { Choice } from './components/tabs.tsx';
import { Link, Shown } from './components/text.tsx';
import { deployment } from './deployment.ts';
import { useRead } from './gate.ts';
import { readTerms, type Terms } from './policy-terms.ts';
import { go, linkTo } from './route.ts';
import type { IntentPage, ServiceList } from './wire.ts';

/** How long the page waits for the next letter before it searches, in milliseconds. */
const typingMs = 120;

/** The terms of the policy in force, for each intent. */
export function useTerms(): (intent: JudgedIntent) => Terms | undefined {
  const policy = useRead<Policy>('/api/policy').answer?.value;
  return useMemo(() => (policy ? readTerms(policy, deployment.publicUrl) : () => undefined), [policy]);
}

/** All intents, and a search in them that follows what is typed. */
export function Catalogue({ query }: { query: URLSearchParams }) {
  const filters = { query: query.get('query') ?? '', service_name: query.get('service') ?? '', tags: query.get('tags') ?? '' };
  const page = query.get('page') ?? '1';
  const { answer, error, isLoading, reload } = useRead<IntentPage>('/api/intents/search', { ...filters, page, page_size: '20' });
  const services = useRead<ServiceList>('/api/services', { page_size: '100' }).answer?.value.services ?? [];
  const termsOf = useTerms();
  const show = (changed: Partial<typeof filters> & { page?: string }, isReplacing = false) => {
    const { query, service_name: service, tags, page = '' } = { ...filters, ...changed };
    go(linkTo([], { query, service, tags, page: page === '1' ? '' : page }), { isReplacing });
  };
  const found = answer?.value;
  const chosen = filters.tags.split(',').filter(Boolean);
  const toggle = (tag: string) =>
    show({ tags: (chosen.includes(tag) ? chosen.filter((other) => other !== tag) : [...chosen, tag]).join(',') });
  return (
    <>
      <Heading title="Catalogue">Explore operations</Heading>
      <search class="search">
        <label for="query">Search</label>
        <SearchField text={filters.query} onText={(text) => show({ query: text }, true)} />
        <label for="service">Service</label>
        <select id="service" value={filters.service_name} onChange={({ currentTarget }) => show({ service_name: currentTarget.value })}>
          <option value="">every service</option>
          {services.map(({ service_id, service_name }) => (
            <option key={service_id} value={service_name}>
              {service_name}
            </option>
          ))}
        </select>
      </search>
      <TagFilter chosen={chosen} found={found?.intents ?? []} onToggle={toggle} />
      <Failure error={error} retry={reload} />
      <p role="status" class="quiet" aria-busy={isLoading}>
        {found === undefined ? 'Loading …' : countOf(found.pagination.total_results)}
      </p>
      <ul class="list">
        {found?.intents.map((intent) => (
          <Hit
            key={intent.intent_uid}
            intent={intent}
            terms={termsOf({ intentUid: intent.intent_uid, tags: intent.tags, service: { service_name: intent.service_name } })}
          />
        ))}
      </ul>
      {found && <Pages page={Number(page)} of={found.pagination.total_pages} onPage={(next) => show({ page: String(next) })} />}
    </>
  );
}

const countOf = (count: number): string => (count === 0 ? 'Nothing found. Try other words, or fewer filters.' : `${count} found`);

/** What is typed is here at once, and in the address when the typing rests. */
function SearchField({ text, onText }: { text: string; onText(text: string): void }) {
  const [typed, setTyped] = useState(text);
  const timer = useRef(0);
  useEffect(() => setTyped(text), [text]);
  return (
    <input
      id="query"
      type="search"
      value={typed}
      maxLength={10_000}
      autocomplete="off"
      placeholder="In your own words: what time is it in Tokyo"
      onInput={({ currentTarget: { value } }) => {
        setTyped(value);
        clearTimeout(timer.current);
        timer.current = window.setTimeout(() => onText(value), typingMs);
      }}
    />
  );
}

/** The tags of what has been found, most frequent first. */
function TagFilter({ chosen, found, onToggle }: { chosen: string[]; found: IntentDetails[]; onToggle(tag: string): void }) {
  const counted = new Map<string, number>();
  for (const tag of found.flatMap(({ tags }) => tags)) counted.set(tag, (counted.get(tag) ?? 0) + 1);
  const offered = [...counted].sort(([, one], [, other]) => other - one).map(([tag]) => tag);
  const tags = [...new Set([...chosen, ...offered])].slice(0, Math.max(12, chosen.length));
  return <Choice title="Tags" options={tags} chosen={chosen} onChoose={onToggle} />;
}

const Hit = ({ intent, terms }: { intent: IntentDetails; terms: Terms | undefined }) => (
  <li>
    <h2>
      <Link to={linkTo(['intents', intent.intent_uid])} text={intent.intent_name} /> <Allowance terms={terms} />
    </h2>
    <p class="brief">
      <Shown text={intent.description} />
    </p>
    <p class="quiet">
      <Shown text={intent.service_name} /> · <code>{intent.intent_uid}</code>
    </p>
  </li>
);

export function Allowance({ terms }: { terms: Terms | undefined }) {
  if (terms === undefined) return null;
  if (terms.access === 'open') return <span class="badge good">open to everyone</span>;
  if (terms.access === 'conditional') return <span class="badge">open under conditions</span>;
  return <span class="badge bad">{terms.access}</span>;
}
