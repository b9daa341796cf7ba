import { useState } from 'preact/hooks';
import { escapeHiddenInJson } from '../../../schemas/text.ts';
import { Scrolled } from './table.tsx';

/** Code with a button to copy it. */
export function Copyable({ text, label, maxShown }: { text: string; label: string; maxShown?: number }) {
  const [copied, setCopied] = useState<string>();
  return (
    <div class="copyable">
      <Scrolled label={label}>
        <pre>
          <code>{escapeHiddenInJson(text.slice(0, maxShown))}</code>
        </pre>
      </Scrolled>
      <button
        type="button"
        class="plain"
        aria-label={`Copy: ${label}`}
        onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(text))}
      >
        {copied === text ? 'Copied' : 'Copy'}
      </button>
    </div>
  );
}
