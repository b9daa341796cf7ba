import { useState } from 'preact/hooks';
import { escapeHiddenInJson } from '../../../schemas/text.ts';
import { Button } from './controls.tsx';
import { Scrolled } from './table.tsx';

/** Maximum length of displayed text, in characters. */
const maxShown = 100_000;

/** Code with a button to copy all of it. */
export function Copyable({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState<string>();
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
            <code>{escapeHiddenInJson(text.slice(0, maxShown))}</code>
          </pre>
        </Scrolled>
        <Button
          title={copied === text ? 'Copied' : 'Copy'}
          kind="plain"
          label={`Copy: ${label}`}
          onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(text))}
        />
      </div>
    </>
  );
}
