import type { Difference } from '../../../registry/differences.ts';
import { Table } from './table.tsx';
import { Shown } from './text.tsx';

/** The members in which two versions of a record differ. */
export const Diff = ({ label, differences }: { label: string; differences: readonly Difference[] }) => (
  <Table
    label={label}
    heads={['Member', 'Before', 'After']}
    rows={differences.map(({ path, before, after }) => [
      <code>{path.slice(1)}</code>,
      before === undefined ? '–' : <del>{<Shown text={textOf(before)} />}</del>,
      after === undefined ? '–' : <ins>{<Shown text={textOf(after)} />}</ins>,
    ])}
  />
);

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 1));
