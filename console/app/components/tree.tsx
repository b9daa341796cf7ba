import { useState } from 'preact/hooks';
import { isObject } from '../../../functions/core/json.ts';
import { Button } from './button.tsx';
import { Shown } from './text.tsx';

/** Number of members shown at first, and added by each click. */
const pageLength = 100;

/** Depth to which a tree is unfolded at first. */
const openDepth = 2;

/** JSON as a tree, which renders only unfolded parts. */
export function Tree({ value, name, depth = 0 }: { value: unknown; name?: string; depth?: number }) {
  const [isOpen, setOpen] = useState(depth < openDepth);
  const [shown, setShown] = useState(pageLength);
  const label = name !== undefined && (
    <span class="name">
      <Shown text={name} />:{' '}
    </span>
  );
  if (!Array.isArray(value) && !isObject(value)) {
    return (
      <p>
        {label}
        <code>
          <Shown text={value === undefined ? '' : JSON.stringify(value)} />
        </code>
      </p>
    );
  }
  const members = Object.entries(value);
  const count = Array.isArray(value) ? `[${members.length}]` : `{${members.length}}`;
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {label}
        <span class="quiet">{count}</span>
      </summary>
      {isOpen && members.slice(0, shown).map(([key, member]) => <Tree key={key} name={key} value={member} depth={depth + 1} />)}
      {isOpen && members.length > shown && (
        <Button
          title={`Show ${Math.min(pageLength, members.length - shown)} more`}
          kind="plain"
          onClick={() => setShown(shown + pageLength)}
        />
      )}
    </details>
  );
}
