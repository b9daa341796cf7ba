import { methods } from '../../schemas/intent.ts';
import type { ServiceList } from '../../schemas/service.ts';
import { Button, Choice } from './components/controls.tsx';
import { EmptyState } from './components/states.tsx';
import { ButtonLink, Shown } from './components/text.tsx';
import { linkTo } from './route.ts';

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
  const names = services.map(({ service_name }) => service_name);
  const isKnown = filters.service === '' || names.includes(filters.service);
  return (
    <div class="toolbar">
      <Choice
        label="Service"
        none="All services"
        options={isKnown ? names : [filters.service, ...names]}
        value={filters.service}
        onChoose={(service) => onFilter({ service })}
      />
      <Choice label="Method" none="All methods" options={methods} value={filters.method} onChoose={(method) => onFilter({ method })} />
      <Choice
        label="Tag"
        none={chosen.length > 0 ? 'Add a tag' : 'All tags'}
        options={tags.filter((tag) => !chosen.includes(tag))}
        value=""
        onChoose={(tag) => setTags([...chosen, tag])}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={filters.permitted === 'true'}
          onChange={({ currentTarget }) => onFilter({ permitted: currentTarget.checked ? 'true' : '' })}
        />
        Permitted only
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
        {isFiltered && query !== '' && <ButtonLink to={linkTo([], { query })} title="Clear filters" />}
        <ButtonLink to={linkTo([])} title="Show everything" />
      </p>
    </EmptyState>
  );
};
