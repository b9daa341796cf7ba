import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Refusal } from '../../../client/errors.ts';
import { escapeHiddenInJson } from '../../../schemas/text.ts';
import { describeFailure, SignInEnded } from './gate.ts';
import { SignIn } from './sign-in.tsx';

/**
 * A text of somebody else: a service, an agent, an admin. It stays a text whatever is in it; it cannot change the direction of what stands around it,
 * and characters that nobody sees are shown as escapes.
 */
export const Shown = ({ text }: { text: string }) => <bdi>{escapeHiddenInJson(text)}</bdi>;

/** whether a view has been shown before */
let isShown = false;

/** The heading of a view. It gets the focus, so that whoever does not see the page hears where they are. */
export function Heading({ title, children = <Shown text={title} /> }: { title: string; children?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${escapeHiddenInJson(title)} – Intent Gate`;
    // where somebody comes from, the page is read from its beginning
    if (isShown) heading.current?.focus();
    isShown = true;
  }, [title]);
  return (
    <h1 tabIndex={-1} ref={heading}>
      {children}
    </h1>
  );
}

/** What went wrong, and how to try again. */
export function Failure({ error, retry }: { error: unknown; retry?: (() => void) | undefined }) {
  if (error === undefined) return null;
  const requestId = error instanceof Refusal ? error.requestId : undefined;
  // what is not there is not there the second time
  const isMissing = error instanceof Refusal && error.status === 404;
  return (
    <div class="failure" role="alert">
      <p>
        <Shown text={describeFailure(error)} />
      </p>
      {requestId && (
        <p class="quiet">
          Request <code>{requestId}</code>
        </p>
      )}
      {error instanceof SignInEnded && (
        <p>
          <SignIn />
        </p>
      )}
      {retry && !isMissing && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** A command or a text to be taken elsewhere. */
export function Copyable({ text, label }: { text: string; label: string }) {
  return (
    <div class="copyable">
      <Scrolled label={label}>
        <pre>
          <code>{escapeHiddenInJson(text)}</code>
        </pre>
      </Scrolled>
      <button type="button" class="plain" aria-label={`Copy: ${label}`} onClick={() => void navigator.clipboard.writeText(text)}>
        Copy
      </button>
    </div>
  );
}

/** A table that can be scrolled sideways where it is wider than the screen. */
export const Scrolled = ({ label, children }: { label: string; children: ComponentChildren }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled must be reachable by keyboard
  <section class="scrolled" aria-label={label} tabIndex={0}>
    {children}
  </section>
);

interface TableProps {
  label: string;
  heads?: readonly string[];
  /** heads of the columns that hold numbers */
  numbers?: readonly string[];
  /** the first cell of each says what the row is about; a text is that of somebody else */
  rows: readonly (readonly ComponentChildren[])[];
}

/** A table of which every row is about something. */
export function Table({ label, heads = [], numbers = [], rows }: TableProps) {
  const classOf = (at: number) => (numbers.includes(heads[at] ?? '') ? 'number' : undefined);
  return (
    <Scrolled label={label}>
      <table>
        {heads.length > 0 && (
          <thead>
            <tr>
              {heads.map((head, at) => (
                <th key={head} scope="col" class={classOf(at)}>
                  {head}
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {rows.map(([first, ...cells], row) => (
            <tr key={row}>
              <th scope="row">{asShown(first)}</th>
              {cells.map((cell, at) => (
                <td key={at} class={classOf(at + 1)}>
                  {asShown(cell)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  );
}

const asShown = (cell: ComponentChildren): ComponentChildren => (typeof cell === 'string' ? <Shown text={cell} /> : cell);

/** A link on a line of its own, if it leads anywhere. */
export const Way = ({ to, title }: { to: string | undefined; title: string }) =>
  to === undefined ? null : (
    <p>
      <a href={to}>{title}</a>
    </p>
  );

/** A part of a view, with its title. */
export function Part({ title, children }: { title: ComponentChildren; children: ComponentChildren }) {
  const id = useId();
  return (
    <section class="part" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

/** Texts of somebody else, one below the other. */
export const Items = ({ texts }: { texts: readonly string[] }) => (
  <ul>
    {texts.map((text) => (
      <li key={text}>
        <Shown text={text} />
      </li>
    ))}
  </ul>
);

/** The way through the pages of a list that has several. */
export const Pages = ({ page, of, onPage }: { page: number; of: number; onPage(page: number): void }) =>
  of < 2 ? null : (
    <nav class="pages" aria-label="Pages">
      <button type="button" disabled={page === 1} onClick={() => onPage(page - 1)}>
        Back
      </button>
      <span>
        Page {page} of {of}
      </span>
      <button type="button" disabled={page >= of} onClick={() => onPage(page + 1)}>
        More
      </button>
    </nav>
  );

/** Leads to the first field that is wrong, once the page has shown what is wrong. */
export const focusProblem = () => setTimeout(() => document.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());

/** A time of the gate, in the reader's zone. */
export const Time = ({ at }: { at: string | number }) => {
  const date = new Date(at);
  return <time dateTime={date.toISOString()}>{date.toLocaleString()}</time>;
};
