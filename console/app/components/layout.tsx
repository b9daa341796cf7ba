import { type ComponentChildren, Fragment } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { linkTo } from '../route.ts';
import { Icon } from './icon.tsx';
import { Toasts } from './toast.tsx';

export interface Place {
  title: string;
  path: readonly string[];
}

interface LayoutProps {
  /** places by the title of their group; that of the first group is empty */
  places: Record<string, readonly Place[]>;
  /** first segment of the current route */
  current: string;
  account: ComponentChildren;
  footer: ComponentChildren;
  children: ComponentChildren;
}

/** The frame of every view: a sidebar with navigation, or a bar with a menu on small screens. */
export function Layout({ places, current, account, footer, children }: LayoutProps) {
  const main = useRef<HTMLElement>(null);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [current]);
  return (
    <div class="app">
      <button type="button" class="skip" onClick={() => main.current?.querySelector<HTMLElement>('h1')?.focus()}>
        Skip to the content
      </button>
      <header class={isOpen ? 'sidebar open' : 'sidebar'}>
        <a class="name" href={linkTo([])}>
          <Icon name="gate" /> Intent Gate
        </a>
        <button type="button" class="menu plain" aria-expanded={isOpen} aria-controls="places" onClick={() => setOpen(!isOpen)}>
          <Icon name="menu" /> Menu
        </button>
        <nav id="places" aria-label="Sections">
          {Object.entries(places).map(([group, those]) => (
            <Fragment key={group}>
              {group && <p>{group}</p>}
              {those.map(({ title, path }) => (
                <a
                  key={title}
                  href={linkTo(path)}
                  aria-current={(path[0] ?? '') === current ? 'page' : undefined}
                  onClick={() => setOpen(false)}
                >
                  {title}
                </a>
              ))}
            </Fragment>
          ))}
        </nav>
        <div class="account">{account}</div>
      </header>
      <main ref={main}>{children}</main>
      <footer>{footer}</footer>
      <Toasts />
    </div>
  );
}
