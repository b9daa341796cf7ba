import type { CataloguePage } from '../../schemas/intent-pages.ts';
import { Badge, Code, MethodBadge, Shown, type Tone } from './components/text.tsx';
import type { Terms } from './policy-terms.ts';
import { linkTo } from './route.ts';

/** A search hit: what the operation does and needs, whether the policy permits it, and its price. */
export const Hit = ({ intent, terms }: { intent: CataloguePage['intents'][number]; terms: Terms | undefined }) => (
  <li>
    <MethodBadge method={intent.method} />
    <div>
      <h2>
        <a data-hit href={linkTo(['intents', intent.intent_uid])}>
          <Shown text={intent.intent_name} />
        </a>
      </h2>
      <p class="brief">
        <Shown text={intent.summary} />
      </p>
      <p class="quiet">
        <Shown text={intent.service_name} /> · {intent.required.length === 0 ? 'needs no input' : 'needs '}
        {intent.required.map((name, at) => (
          <span key={name}>
            {at > 0 && ', '}
            <Code text={name} />
          </span>
        ))}{' '}
        · <code>{intent.intent_uid}</code>
      </p>
    </div>
    <p class="terms">
      <Allowance terms={terms} />
      {terms?.price && <span class="quiet">{terms.price}</span>}
    </p>
  </li>
);

const allowances: Record<Terms['access'], [text: string, tone: Tone]> = {
  open: ['permitted', 'good'],
  conditional: ['under conditions', 'warn'],
  'not permitted': ['not permitted', 'bad'],
  prohibited: ['prohibited', 'bad'],
};

export function Allowance({ terms }: { terms: Terms | undefined }) {
  if (terms === undefined) return null;
  const [text, tone] = allowances[terms.access];
  return (
    <>
      <Badge tone={tone}>{text}</Badge>
      {terms.approval && <Badge tone="warn">{terms.approval === 'always' ? 'needs approval' : 'may need approval'}</Badge>}
    </>
  );
}
