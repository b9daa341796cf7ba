import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Pages, useFilter, useFirst } from './controls.tsx';
import { Icon } from './icon.tsx';
import { Awaited, type AwaitedProps } from './states.tsx';
import { Shown } from './text.tsx';

/** Content that scrolls sideways if it is too wide for the screen. */
export const Scrolled = ({ label, children }: { label: string; children: ComponentChildren }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled must be reachable by keyboard
  <section class="scrolled" aria-label={label} tabIndex={0}>
    {children}
  </section>
);

interface TableProps {
  label: string;
  heads?: readonly string[];
  /** heads of numeric columns */
  numbers?: readonly string[];
  /** unless the table is plain, the first cell is the row's head; strings count as third-party text */
  rows: readonly (readonly ComponentChildren[])[];
  isPlain?: boolean;
}

/** A static table. */
export function Table({ label, heads, numbers = [], rows, isPlain = false }: TableProps) {
  if (rows.length === 0) return null;
  const columns = (heads ?? rows[0] ?? []).map((_, at) => ({
    head: heads?.[at] ?? '',
    cell: (row: TableProps['rows'][number]) => row[at],
    isNumber: numbers.includes(heads?.[at] ?? ''),
  }));
  return <DataTable label={label} columns={columns} rows={rows} keyOf={(_, at) => String(at)} pageLength={rows.length} isPlain={isPlain} />;
}

export interface Column<Row> {
  head: string;
  cell(row: Row): ComponentChildren;
  /** sort key, if the column can be sorted; rows without a value come last */
  sortBy?(row: Row): string | number | undefined;
  isNumber?: boolean;
}

interface DataTableProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf(row: Row, at: number): string;
  /** text that the filter searches; without it, there is no filter */
  textOf?(row: Row): string;
  pageLength?: number;
  /** shown if there are no rows */
  empty?: ComponentChildren;
  /** unless the table is plain, the first column contains row heads */
  isPlain?: boolean;
  /** makes rows selectable; `left` has the keys of deselected rows */
  choice?: { verb: string; left: ReadonlySet<string>; onLeft(left: ReadonlySet<string>): void };
}

/** A table that sorts, filters and paginates in the browser. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, columns, rows, keyOf, textOf, pageLength = 50, empty = null, isPlain, choice } = props;
  const [sorting, setSorting] = useState<{ head: string; isDescending: boolean }>();
  const [page, setPage] = useState(1);
  const { isFiltering, matches, field } = useFilter(label, () => setPage(1));
  const matching = textOf && isFiltering ? rows.filter((row) => matches(textOf(row))) : rows;
  const sortBy = columns.find(({ head }) => head === sorting?.head)?.sortBy;
  const sorted = sortBy ? matching.toSorted((a, b) => compare(sortBy(a), sortBy(b), sorting?.isDescending ?? false)) : matching;
  const hasHeads = columns.some(({ head }) => head !== '');
  const pageCount = Math.ceil(sorted.length / pageLength);
  const current = Math.max(1, Math.min(page, pageCount));
  const sort = ({ head, isNumber = false }: Column<Row>) =>
    setSorting(head === sorting?.head ? { head, isDescending: !sorting.isDescending } : { head, isDescending: isNumber });
  return (
    <>
      {textOf && (
        <div class="toolbar">
          {field}
          {isFiltering && (
            <span class="quiet" role="status">
              {matching.length} of {rows.length}
            </span>
          )}
        </div>
      )}
      {rows.length === 0 ? (
        empty
      ) : (
        <Scrolled label={label}>
          <table class={hasHeads ? 'stacks' : undefined}>
            {hasHeads && (
              <thead>
                <tr>
                  {choice && (
                    <td class="choice">
                      <Check {...choice} keys={matching.map(keyOf)} label={`${choice.verb} all ${matching.length}`} />
                    </td>
                  )}
                  {columns.map((column) => {
                    const { head, sortBy, isNumber } = column;
                    const direction = sorting?.isDescending ? 'descending' : 'ascending';
                    const title = <Shown text={head} />;
                    return (
                      <th
                        key={head}
                        scope="col"
                        class={isNumber ? 'number' : undefined}
                        aria-sort={sortBy && head === sorting?.head ? direction : undefined}
                      >
                        {sortBy ? (
                          <button type="button" class="bare" onClick={() => sort(column)}>
                            {title} <Icon name="up" />
                          </button>
                        ) : (
                          title
                        )}
                      </th>
                    );
                  })}
                </tr>
              </thead>
            )}
            <tbody>
              {sorted.slice((current - 1) * pageLength, current * pageLength).map((row, at) => (
                <tr key={keyOf(row, at)}>
                  {choice && (
                    <td class="choice" data-head={choice.verb}>
                      <Check {...choice} keys={[keyOf(row, at)]} label={`${choice.verb} ${keyOf(row, at)}`} />
                    </td>
                  )}
                  {columns.map(({ head, cell, isNumber = false }, at) => (
                    <Cell key={at} head={head} isNumber={isNumber} isHead={at === 0 && !isPlain}>
                      {cell(row)}
                    </Cell>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolled>
      )}
      <Pages page={current} of={pageCount} onPage={setPage} />
    </>
  );
}

/** A table of what is read. Until it is, there are placeholders or the failure instead. */
export const ReadTable = <Row,>({ reading, ...rest }: DataTableProps<Row> & Pick<AwaitedProps, 'reading'>) => (
  <>
    <Awaited reading={reading} />
    {reading.answer !== undefined && <DataTable {...rest} />}
  </>
);

/** Strings count as third-party text. */
const Cell = ({ head, isNumber, isHead, children }: { head: string; isNumber?: boolean; isHead: boolean; children: ComponentChildren }) => {
  const given = { 'data-head': head, class: isNumber ? 'number' : undefined };
  const shown = typeof children === 'string' && children !== '' ? <Shown text={children} /> : children;
  return isHead ? (
    <th scope="row" {...given}>
      {shown}
    </th>
  ) : (
    <td {...given}>{shown}</td>
  );
};

type CheckProps = NonNullable<DataTableProps<unknown>['choice']> & { keys: readonly string[]; label: string };

/** A checkbox that selects or deselects rows. */
function Check({ keys, label, left, onLeft }: CheckProps) {
  const chosen = keys.filter((key) => !left.has(key)).length;
  const isAll = chosen === keys.length;
  return (
    <input
      type="checkbox"
      aria-label={label}
      checked={isAll}
      indeterminate={!isAll && chosen > 0}
      onChange={() => onLeft(isAll ? left.union(new Set(keys)) : left.difference(new Set(keys)))}
    />
  );
}

function compare(left: string | number | undefined, right: string | number | undefined, isDescending: boolean): number {
  if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
  const order = typeof left === 'number' && typeof right === 'number' ? left - right : String(left).localeCompare(String(right));
  return isDescending ? -order : order;
}

/** A collapsed table, if there are rows. Its label is its title unless another one is given. */
export function FoldedTable({ title, label = title, rows, ...rest }: { title: string; label?: string } & Omit<TableProps, 'label'>) {
  const [shown, more] = useFirst(rows, 200);
  if (rows.length === 0) return null;
  return (
    <details>
      <summary>{`${title} (${rows.length})`}</summary>
      <Table {...rest} label={label} rows={shown} />
      {more}
    </details>
  );
}
