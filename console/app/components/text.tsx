import { useState } from 'preact/hooks';
import { errorTable } from '../../../schemas/errors.ts';
import { escapeHiddenInJson } from '../../../schemas/text.ts';
import { linkTo } from '../route.ts';
import { Button } from './button.tsx';

/**
 * Third-party text, from a service, agent or admin. It cannot change the direction of surrounding text, and invisible characters are escaped.
 */
export const Shown = ({ text }: { text: string }) => <bdi>{escapeHiddenInJson(text)}</bdi>;

/** Third-party text. If it is long, a button shows the rest. */
export function LongText({ text, maxLength }: { text: string; maxLength: number }) {
  const [isAll, setAll] = useState(text.length <= maxLength);
  return (
    <>
      <Shown text={isAll ? text : `${text.slice(0, maxLength)}…`} />{' '}
      {!isAll && <Button title="more" kind="bare link" onClick={() => setAll(true)} />}
    </>
  );
}

/** A link with third-party text. */
export const Link = ({ to, text }: { to: string; text: string }) => (
  <a href={to}>
    <Shown text={text} />
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
