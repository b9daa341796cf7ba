import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';

interface TabsProps {
  label: string;
  /** titles by name */
  tabs: Record<string, string>;
  /** name of the selected tab */
  current: string;
  linkOf(name: string): string;
}

/** Tabs that are links, each with its own URL. */
export const Tabs = ({ label, tabs, current, linkOf }: TabsProps) => (
  <nav class="tabs" aria-label={label}>
    {Object.entries(tabs).map(([name, title]) => (
      <a key={name} href={linkOf(name)} aria-current={name === current ? 'page' : undefined}>
        {title}
      </a>
    ))}
  </nav>
);

/** Tabs within a view: arrow keys select, Tab moves to the panel (WAI-ARIA tabs pattern). */
export function Panels({ label, panels }: { label: string; panels: Record<string, () => ComponentChildren> }) {
  const id = useId();
  const names = Object.keys(panels);
  const [chosen, setChosen] = useState(names[0] ?? '');
  const current = names.includes(chosen) ? chosen : (names[0] ?? '');
  const choose = (name: string) => {
    setChosen(name);
    document.getElementById(`${id}-${names.indexOf(name)}`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const at = names.indexOf(current);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1 + names.length, Home: 0, End: names.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(names[next % names.length] ?? '');
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label}>
        {names.map((name, at) => (
          <button
            key={name}
            id={`${id}-${at}`}
            type="button"
            role="tab"
            aria-selected={name === current}
            aria-controls={`${id}-panel`}
            tabIndex={name === current ? 0 : -1}
            onClick={() => choose(name)}
            onKeyDown={onKeyDown}
          >
            {name}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} role="tabpanel" aria-label={current}>
        {panels[current]?.()}
      </div>
    </>
  );
}
