import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { escapeHiddenInJson } from '../../../schemas/text.ts';
import { Shown } from './text.tsx';

let isShown = false;

/** The heading of a view. It gets the focus so that screen readers announce the view. */
export function Heading({ title, children = <Shown text={title} /> }: { title: string; children?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${escapeHiddenInJson(title)} – Intent Gate`;
    // not on the first view, which screen readers announce with the page
    if (isShown) heading.current?.focus();
    isShown = true;
  }, [title]);
  return (
    <h1 tabIndex={-1} ref={heading}>
      {children}
    </h1>
  );
}

export function Part({ title, id, children }: { title: ComponentChildren; id?: string; children: ComponentChildren }) {
  const titleId = useId();
  return (
    <section class="part" id={id} aria-labelledby={titleId}>
      <h2 id={titleId}>{title}</h2>
      {children}
    </section>
  );
}
