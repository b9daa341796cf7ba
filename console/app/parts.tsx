import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Refusal } from '../../client/errors.ts';
import { errorTable, type Issue } from '../../schemas/errors.ts';
import { escapeHiddenInJson } from '../../schemas/text.ts';
import { describeFailure, SignInEnded } from './gate.ts';
import { linkTo } from './route.ts';
import { SignIn } from './sign-in.tsx';

/**
 * Third-party text: of a service, an agent or an admin. It cannot change the direction of the text around it, and invisible characters are shown as
 * escapes.
 */
export const Shown = ({ text }: { text: string }) => <bdi>{escapeHiddenInJson(text)}</bdi>;

let isShown = false;

/** The heading of a view. It gets the focus, so that screen readers announce the view. */
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
      {error instanceof SignInEnded && <SignIn />}
      {retry && !isMissing && <Button title="Try again" onClick={retry} />}
    </div>
  );
}

interface ButtonProps {
  title: ComponentChildren;
  onClick(): void;
  kind?: string;
  /** for those who cannot see what the button is about; default: the title */
  label?: string;
  isDisabled?: boolean;
  isBusy?: boolean;
  isPressed?: boolean;
}

export const Button = ({ title, kind, label, isDisabled = false, isBusy, isPressed, onClick }: ButtonProps) => (
  <button type="button" class={kind} aria-label={label} aria-busy={isBusy} aria-pressed={isPressed} disabled={isDisabled} onClick={onClick}>
    {title}
  </button>
);

interface SubmitFormProps {
  title: string;
  /** replaces the title while the form is being sent */
  busyTitle?: string;
  isBusy: boolean;
  isDisabled?: boolean;
  /** when they change, the first invalid field gets the focus */
  issues?: readonly Issue[];
  onSubmit(): void;
  /** beside the button */
  note?: ComponentChildren;
  children: ComponentChildren;
}

/** Fields, and a button that sends them. */
export function SubmitForm({ title, busyTitle = title, isBusy, isDisabled = false, issues, onSubmit, note, children }: SubmitFormProps) {
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), [issues]);
  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy) onSubmit();
      }}
    >
      {children}
      <p class="buttons">
        <button type="submit" class="main" disabled={isDisabled} aria-busy={isBusy}>
          {isBusy ? busyTitle : title}
        </button>
        {note}
      </p>
    </form>
  );
}

interface ChoiceProps {
  title: string;
  options: readonly string[];
  chosen: readonly string[];
  onChoose(option: string): void;
}

/** Options of which some are chosen. */
export const Choice = ({ title, options, chosen, onChoose }: ChoiceProps) =>
  options.length === 0 ? null : (
    <fieldset class="tags">
      <legend>{title}</legend>
      {options.map((option) => (
        <Button
          key={option}
          title={<Shown text={option} />}
          kind="tag"
          isPressed={chosen.includes(option)}
          onClick={() => onChoose(option)}
        />
      ))}
    </fieldset>
  );

/** Links to variants of a view, of which one is shown. */
export const Tabs = ({ label, tabs, current }: { label: string; tabs: Record<string, string>; current: string }) => (
  <nav class="tags" aria-label={label}>
    {Object.entries(tabs).map(([name, link]) => (
      <a key={name} class="tag" href={link} aria-current={name === current ? 'page' : undefined}>
        {name}
      </a>
    ))}
  </nav>
);

/** A link whose text is somebody else's. */
export const Link = ({ to, text }: { to: string; text: string }) => (
  <a href={to}>
    <Shown text={text} />
  </a>
);

/** A command or a text to be taken elsewhere. */
export function Copyable({ text, label }: { text: string; label: string }) {
  return (
    <div class="copyable">
      <Scrolled label={label}>
        <pre>
          <code>{escapeHiddenInJson(text)}</code>
        </pre>
      </Scrolled>
      <Button title="Copy" kind="plain" label={`Copy: ${label}`} onClick={() => void navigator.clipboard.writeText(text)} />
    </div>
  );
}

/** Paragraphs of the gate's own documentation, with code and strong text as in Markdown. The codes of errors are links. */
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
  /** unless the table is plain, the first cell is the head of its row; texts are somebody else's */
  rows: readonly (readonly ComponentChildren[])[];
  isPlain?: boolean;
}

export function Table({ label, heads = [], numbers = [], rows, isPlain = false }: TableProps) {
  const classOf = (at: number) => (numbers.includes(heads[at] ?? '') ? 'number' : undefined);
  if (rows.length === 0) return null;
  return (
    <Scrolled label={label}>
      <table>
        {heads.length > 0 && (
          <thead>
            <tr>
              {heads.map((head, at) => (
                <th key={head} scope="col" class={classOf(at)}>
                  <Shown text={head} />
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, at) => {
                const shown = typeof cell === 'string' ? <Shown text={cell} /> : cell;
                return at === 0 && !isPlain ? (
                  <th key={at} scope="row">
                    {shown}
                  </th>
                ) : (
                  <td key={at} class={classOf(at)}>
                    {shown}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  );
}

/** A link on a line of its own, if it leads anywhere. */
export const Way = ({ to, title }: { to: string | undefined; title: string }) =>
  to === undefined ? null : (
    <p>
      <a href={to}>{title}</a>
    </p>
  );

export function Part({ title, id, children }: { title: ComponentChildren; id?: string; children: ComponentChildren }) {
  const titleId = useId();
  return (
    <section class="part" id={id} aria-labelledby={titleId}>
      <h2 id={titleId}>{title}</h2>
      {children}
    </section>
  );
}

/** What the gate says of something that it has saved all the same. */
export const Warnings = ({ texts = [] }: { texts?: readonly string[] | undefined }) =>
  texts.length === 0 ? null : (
    <div class="notice" role="status">
      <Items title="It is saved, but:" texts={texts} />
    </div>
  );

/** Third-party texts below a title, if there are any. */
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

const maxRows = 200;

/** A table that is folded, if it has rows. */
export const FoldedTable = ({ title, rows, ...rest }: { title: string } & TableProps) =>
  rows.length === 0 ? null : (
    <details>
      <summary>{`${title} (${rows.length})`}</summary>
      <Table {...rest} rows={rows.slice(0, maxRows)} />
      {rows.length > maxRows && <p>The command line shows the others.</p>}
    </details>
  );

/** The way through the pages of a list that has several. */
export const Pages = ({ page, of, onPage }: { page: number; of: number; onPage(page: number): void }) =>
  of < 2 ? null : (
    <nav class="pages" aria-label="Pages">
      <Button title="Back" isDisabled={page === 1} onClick={() => onPage(page - 1)} />
      <span>
        Page {page} of {of}
      </span>
      <Button title="More" isDisabled={page >= of} onClick={() => onPage(page + 1)} />
    </nav>
  );

/** A time of the gate, in the reader's zone. */
export const Time = ({ at }: { at: string | number }) => {
  const date = new Date(at);
  return <time dateTime={date.toISOString()}>{date.toLocaleString()}</time>;
};
