import { useState } from 'preact/hooks';
import { escapeHiddenInJson } from '../../../schemas/text.ts';
import { Button } from './controls.tsx';
import { Scrolled } from './table.tsx';

/** Maximum length of displayed text, in characters. */
const maxShown = 100_000;

interface CopyableProps {
  text: string;
  label: string;
}

function Copy({ text, label }: CopyableProps) {
  const [copied, setCopied] = useState<string>();
  const copy = () => void navigator.clipboard.writeText(text).then(() => setCopied(text));
  return <Button title={copied === text ? 'Copied' : 'Copy'} kind="plain" label={`Copy: ${label}`} onClick={copy} />;
}

/** The first eight characters of a key or digest, with a button to copy all of it. */
export const Short = ({ text, label }: CopyableProps) => (
  <span class="short">
    <code title={text}>{text.slice(0, 8)}…</code> <Copy text={text} label={label} />
  </span>
);

/** Longer text is not coloured, in characters. */
const maxColoured = 20_000;

/** Comments, names of members, strings, numbers and keywords of JSON, shell, TypeScript and Python. */
const tokens = new RegExp(
  [
    /(?<comment>(?<=^|\s)(?:#|\/\/).*$)/,
    /(?<name>"(?:\\.|[^"\\\n])*"(?=:))/,
    /(?<string>"(?:\\.|[^"\\\n])*"|'[^'\n]*'|`[^`\n]*`)/,
    /(?<number>-?\b\d[\d.]*(?:[eE][+-]?\d+)?\b)/,
    /(?<keyword>\b(?:async|await|const|def|export|false|for|from|if|import|let|null|print|return|true|with)\b)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gm',
);

/** The colour of each kind of token, a class of the style sheet. */
const tones: Record<string, string> = { comment: 'quiet', name: 'info', string: 'good', number: 'warn', keyword: 'accent' };

/** Code with its tokens in elements of their own. */
function highlight(code: string) {
  if (code.length > maxColoured) return code;
  let end = 0;
  const parts = [...code.matchAll(tokens)].flatMap((match) => {
    const [kind = ''] = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined) ?? [];
    const before = code.slice(end, match.index);
    end = match.index + match[0].length;
    return [before, <span class={tones[kind]}>{match[0]}</span>];
  });
  return [...parts, code.slice(end)];
}

/** Code with a button to copy all of it. */
export function Copyable({ text, label }: CopyableProps) {
  return (
    <>
      {text.length > maxShown && (
        <p class="quiet">
          The first {maxShown.toLocaleString('en')} of {text.length.toLocaleString('en')} characters. Copy gives you all of them.
        </p>
      )}
      <div class="copyable">
        <Scrolled label={label}>
          <pre>
            <code>{highlight(escapeHiddenInJson(text.slice(0, maxShown)))}</code>
          </pre>
        </Scrolled>
        <Copy text={text} label={label} />
      </div>
    </>
  );
}

/** The equivalent command. @param text - the words after `npx intent-gate` */
export const Command = ({ text }: { text: string }) => (
  <details>
    <summary>Command line</summary>
    <Copyable label="Command" text={`npx intent-gate ${text}`} />
  </details>
);
