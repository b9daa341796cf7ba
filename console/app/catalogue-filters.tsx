import { methods } from '../../schemas/intent.ts';
import { Button } from './components/button.tsx';
import { EmptyState } from './components/empty-state.tsx';
import { Shown } from './components/text.tsx';
import { linkTo } from './route.ts';
import type { ServiceList } from './wire.ts';

export const filterNames = ['query', 'service', 'method', 'tags', 'permitted'] as const;

export type Filters = Record<(typeof filterNames)[number], string>;

interface FilterBarProps {
  filters: Filters;
  services: ServiceList['services'];
  tags: readonly string[];
  onFilter(changed: Partial<Filters>): void;
}

export function FilterBar({ filters, services, tags, onFilter }: FilterBarProps) {
  const chosen = filters.tags.split(',').filter(Boolean);
  const setTags = (next: readonly string[]) => onFilter({ tags: next.join(',') });
  const isKnown = filters.service === '' || services.some(({ service_name }) => service_name === filters.service);
  return (
    <div class="toolbar">
      <select aria-label="Service" value={filters.service} onChange={({ currentTarget }) => onFilter({ service: currentTarget.value })}>
        <option value="">Every service</option>
        {!isKnown && <option>{filters.service}</option>}
        {services.map(({ service_id, service_name }) => (
          <option key={service_id} value={service_name}>
            {service_name}
          </option>
        ))}
      </select>
      <select aria-label="Method" value={filters.method} onChange={({ currentTarget }) => onFilter({ method: currentTarget.value })}>
        <option value="">Every method</option>
        {methods.map((method) => (
          <option key={method}>{method}</option>
        ))}
      </select>
      <select aria-label="Tag" value="" onChange={({ currentTarget }) => setTags([...chosen, currentTarget.value])}>
        <option value="">{chosen.length > 0 ? 'Another tag' : 'Every tag'}</option>
        {tags.flatMap((tag) => (chosen.includes(tag) ? [] : [<option key={tag}>{tag}</option>]))}
      </select>
      <label class="check">
        <input
          type="checkbox"
          checked={filters.permitted === 'true'}
          onChange={({ currentTarget }) => onFilter({ permitted: currentTarget.checked ? 'true' : '' })}
        />
        Only what I may run
      </label>
      {chosen.map((tag) => (
        <Button
          key={tag}
          kind="tag"
          isPressed
          title={<Shown text={tag} />}
          label={`Tag ${tag}: remove`}
          onClick={() => setTags(chosen.filter((other) => other !== tag))}
        />
      ))}
    </div>
  );
}

export const NothingFound = ({ filters: { query, ...others } }: { filters: Filters }) => {
  const isFiltered = Object.values(others).some((value) => value !== '');
  if (query === '' && !isFiltered)
    return (
      <EmptyState title="No operations yet">
        <p>
          An admin adds them by <a href={linkTo(['import'])}>importing an OpenAPI document</a>.
        </p>
      </EmptyState>
    );
  return (
    <EmptyState title="Nothing found">
      <p>Try other words{isFiltered && ', or fewer filters'}.</p>
      <p class="buttons">
        {isFiltered && query !== '' && (
          <a class="button" href={linkTo([], { query })}>
            Remove the filters
          </a>
        )}
        <a class="button" href={linkTo([])}>
          Show everything
        </a>
      </p>
    </EmptyState>
  );
};
