import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { errorTable } from '../../../schemas/errors.ts';
import { escapeHiddenInJson } from '../../../schemas/text.ts';
import { gateNow } from '../gate.ts';
import { linkTo } from '../route.ts';
import { openStore, useStore } from '../store.ts';
import { Button } from './controls.tsx';

/**
 * Third-party text, from a service, agent or admin. It cannot change the direction of surrounding text, and invisible characters are escaped.
 */
export const Shown = ({ text }: { text: string }) => <bdi>{escapeHiddenInJson(text)}</bdi>;

/** Third-party text. Of a long one, the sentences or words that fit, and a button that shows the rest. */
export function LongText({ text, maxLength }: { text: string; maxLength: number }) {
  const [isAll, setAll] = useState(text.length <= maxLength);
  return (
    <>
      <Shown text={isAll ? text : shorten(text, maxLength)} />{' '}
      {!isAll && <Button title="more" kind="bare link" onClick={() => setAll(true)} />}
    </>
  );
}

function shorten(text: string, maxLength: number): string {
  const head = text.slice(0, maxLength + 1);
  return /^.*[.!?](?=\s)/s.exec(head)?.[0] ?? `${head.slice(0, maxLength).replace(/\s\S*$/, '')}…`;
}

/** Third-party text as code. */
export const Code = ({ text }: { text: string }) => (
  <code>
    <Shown text={text} />
  </code>
);

/** A link with third-party text. */
export const Link = ({ to, text }: { to: string; text: string }) => (
  <a href={to}>
    <Shown text={text} />
  </a>
);

/** A link that looks like a button. */
export const ButtonLink = ({ to, title, kind = '' }: { to: string; title: string; kind?: 'main' | '' }) => (
  <a class={`button ${kind}`} href={to}>
    {title}
  </a>
);

/** A link on its own line, if it has a target. */
export const Way = ({ to, title }: { to: string | undefined; title: string }) =>
  to === undefined ? null : (
    <p>
      <a href={to}>{title}</a>
    </p>
  );

/** A timestamp in the reader's time zone. */
export const Time = ({ at }: { at: string | number }) => {
  const date = new Date(at);
  return <time dateTime={date.toISOString()}>{date.toLocaleString()}</time>;
};

const ages = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

/** How long ago something happened, in tables; the tooltip has the time. */
export const Ago = ({ at }: { at: string | number }) => {
  const date = new Date(at);
  const passedMs = Math.max(0, gateNow() - date.getTime());
  const [unit, ms] = ages.find(([, one]) => passedMs >= one) ?? (['minute', 60_000] as const);
  const words = new Intl.RelativeTimeFormat('en').format(-Math.floor(passedMs / ms), unit);
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString()}>
      {passedMs < 60_000 ? 'just now' : words}
    </time>
  );
};

/** A list of third-party texts below a title, if there are any. */
export const Items = ({ title, texts }: { title?: string; texts: readonly string[] }) =>
  texts.length === 0 ? null : (
    <>
      {title && <p>{title}</p>}
      <ul>
        {texts.map((text) => (
          <li key={text}>
            <Shown text={text} />
          </li>
        ))}
      </ul>
    </>
  );

/** Paragraphs of the gate's documentation, with Markdown code and strong text. Error codes become links. */
export const Prose = ({ text }: { text: string }) =>
  text.split('\n\n').map((paragraph) => (
    <p key={paragraph} class="prose">
      {paragraph.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part, at) => {
        if (part.startsWith('`')) return <code key={at}>{part.slice(1, -1)}</code>;
        if (!part.startsWith('**')) return part;
        const strong = part.slice(2, -2);
        return strong in errorTable ? (
          <a key={at} href={linkTo(['reference', strong])}>
            {strong}
          </a>
        ) : (
          <strong key={at}>{strong}</strong>
        );
      })}
    </p>
  ));

/** How many things wait for the person, which the document's title says. */
export const attention = openStore(0);

export const upTo99 = (count: number): string => (count > 99 ? '99+' : String(count));

let isShown = false;

/** The heading of a view. It gets the focus so that screen readers announce the view. */
export function Heading({ title, children = <Shown text={title} /> }: { title: string; children?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const waiting = useStore(attention);
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${upTo99(waiting)}) ` : ''}${escapeHiddenInJson(title)} – Intent Gate`;
  }, [title, waiting]);
  useEffect(() => {
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

export function Part({ title, id, children }: { title: string; id?: string; children: ComponentChildren }) {
  const titleId = useId();
  return (
    <section class="part" id={id} aria-labelledby={titleId}>
      <h2 id={titleId}>
        <Shown text={title} />
      </h2>
      {children}
    </section>
  );
}

export type Tone = 'good' | 'bad' | 'warn' | 'info';

export const Badge = ({ tone, children }: { tone?: Tone | undefined; children: ComponentChildren }) => (
  <span class={tone === undefined ? 'badge' : `badge ${tone}`}>{children}</span>
);

const methodTones: Record<string, Tone> = { GET: 'info', POST: 'good', PUT: 'warn', PATCH: 'warn', DELETE: 'bad' };

export const MethodBadge = ({ method }: { method: string }) => <span class={`badge method ${methodTones[method] ?? ''}`}>{method}</span>;

export const StatusBadge = ({ status }: { status: number }) => (
  <Badge tone={status >= 500 ? 'bad' : status >= 400 ? 'warn' : status >= 300 ? 'info' : 'good'}>{status}</Badge>
);
