import { isObject } from '../../functions/core/json/json.ts';
import { Fold, useFirst } from './components/controls.tsx';
import { Copyable } from './components/copyable.tsx';
import { Table } from './components/table.tsx';
import { Panels } from './components/tabs.tsx';
import { Code, Shown } from './components/text.tsx';

/** An answer as tables, as a tree, or as received. */
export const Answer = ({ value }: { value: unknown }) => (
  <div class="answer">
    <Panels
      label="Show the answer as"
      panels={{
        Table: () => <Value value={value} label="Answer" />,
        Tree: () => (
          <div class="tree">
            <Tree value={value} />
          </div>
        ),
        Raw: () => <Copyable label="The answer as JSON" text={JSON.stringify(value, null, 2)} />,
      }}
    />
  </div>
);

export function Value({ value, label }: { value: unknown; label: string }) {
  if (Array.isArray(value)) return <List items={value} label={label} />;
  if (isObject(value)) return <Members value={value} />;
  if (typeof value === 'string') return <Text text={value} label={label} />;
  return <code>{value === undefined ? '' : JSON.stringify(value)}</code>;
}

function Members({ value }: { value: Record<string, unknown> }) {
  const members = Object.entries(value);
  const [shown, more] = useFirst(members);
  if (members.length === 0) return <p class="quiet">nothing</p>;
  return (
    <>
      <dl class="members">
        {shown.map(([name, member]) => (
          <div key={name}>
            <dt>
              <Shown text={name} />
            </dt>
            <dd>
              <Value value={member} label={name} />
            </dd>
          </div>
        ))}
      </dl>
      {more}
    </>
  );
}

function List({ items, label }: { items: unknown[]; label: string }) {
  const [shown, more] = useFirst(items);
  if (items.length === 0) return <p class="quiet">an empty list</p>;
  const columns = [...new Set(items.filter(isObject).flatMap((item) => Object.keys(item)))].slice(0, 30);
  return (
    <>
      {items.every(isObject) ? (
        <Table
          label={label}
          isPlain
          heads={columns}
          rows={shown.filter(isObject).map((item) => columns.map((column) => <Value value={item[column]} label={column} />))}
        />
      ) : (
        <ol>
          {shown.map((item, at) => (
            <li key={at}>
              <Value value={item} label={label} />
            </li>
          ))}
        </ol>
      )}
      {more}
    </>
  );
}

/** An image if the text is one in base64, or a data URL of a type that cannot run scripts; else the text. */
function Text({ text, label }: { text: string; label: string }) {
  const address = pictureAddress(text);
  if (address === undefined) return <Shown text={text} />;
  return <img src={address} alt={label} />;
}

/** Prefixes of base64 images: PNG, JPEG, GIF and WebP. SVG is excluded, because it may contain scripts. */
const beginnings: [RegExp, string][] = [
  [/^iVBORw0KGgo/, 'image/png'],
  [/^\/9j\//, 'image/jpeg'],
  [/^R0lGOD[dl]h/, 'image/gif'],
  [/^UklGR.{6}XRUJQ/, 'image/webp'],
];

function pictureAddress(text: string): string | undefined {
  const [, base64 = text] = /^data:image\/(?:png|jpeg|gif|webp);base64,(.*)$/s.exec(text) ?? [];
  if (base64.length < 60 || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return undefined;
  const mediaType = beginnings.find(([beginning]) => beginning.test(base64))?.[1];
  return mediaType && `data:${mediaType};base64,${base64}`;
}

/** Depth to which a tree is unfolded at first. */
const openDepth = 2;

/** JSON as a tree. Only unfolded parts are rendered. */
function Tree({ value, name, depth = 0 }: { value: unknown; name?: string; depth?: number }) {
  const isList = Array.isArray(value);
  const members = isList || isObject(value) ? Object.entries(value) : [];
  const [shown, more] = useFirst(members);
  const label = name !== undefined && (
    <span class="name">
      <Shown text={name} />:{' '}
    </span>
  );
  if (!isList && !isObject(value)) {
    return (
      <p>
        {label}
        <Code text={value === undefined ? '' : JSON.stringify(value)} />
      </p>
    );
  }
  return (
    <Fold
      isOpen={depth < openDepth}
      summary={
        <>
          {label}
          <span class="quiet">{isList ? `[${members.length}]` : `{${members.length}}`}</span>
        </>
      }
    >
      {() => (
        <>
          {shown.map(([key, member]) => (
            <Tree key={key} name={key} value={member} depth={depth + 1} />
          ))}
          {more}
        </>
      )}
    </Fold>
  );
}
