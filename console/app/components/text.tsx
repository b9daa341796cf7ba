import { errorTable } from '../../../schemas/errors.ts';
import { escapeHiddenInJson } from '../../../schemas/text.ts';
import { linkTo } from '../route.ts';

/**
 * Third-party text: of a service, an agent or an admin. It cannot change the direction of the text around it, and invisible characters are shown as
 * escapes.
 */
export const Shown = ({ text }: { text: string }) => <bdi>{escapeHiddenInJson(text)}</bdi>;

/** A link whose text is somebody else's. */
export const Link = ({ to, text }: { to: string; text: string }) => (
  <a href={to}>
    <Shown text={text} />
  </a>
);

/** A link on a line of its own, if it leads anywhere. */
export const Way = ({ to, title }: { to: string | undefined; title: string }) =>
  to === undefined ? null : (
    <p>
      <a href={to}>{title}</a>
    </p>
  );

/** A time of the gate, in the reader's zone. */
export const Time = ({ at }: { at: string | number }) => {
  const date = new Date(at);
  return <time dateTime={date.toISOString()}>{date.toLocaleString()}</time>;
};

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
