import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One condition of a conditional write in the sources: what stands between two ANDs. */
export interface Condition {
  /** the same as long as neither the condition nor those before it in its file change */
  id: string;
  file: string;
  text: string;
  /** where it stands in the file */
  from: number;
  to: number;
}

/** What decides by conditional writes. */
const folders = [
  'functions/core/table',
  'functions/core/registry',
  'functions/core/activity',
  'functions/core/search/opensearch',
  'functions/core/limit',
  'functions/core/idempotency',
];

/** Holds for every item. */
const nothing = 'attribute_not_exists(removed)';

interface Span {
  from: number;
  to: number;
}

/** The index after the literal or the brackets that begin at `at`; `at + 1` if neither does. */
function skip(source: string, at: number): number {
  const first = source[at] ?? '';
  if (source.startsWith('//', at)) return source.indexOf('\n', at);
  if (source.startsWith('/*', at)) return source.indexOf('*/', at) + 2;
  if (first === "'" || first === '"' || first === '`') {
    for (let end = at + 1; ; end++) {
      if (source[end] === '\\') end++;
      else if (first === '`' && source.startsWith('${', end)) end = skip(source, end + 1) - 1;
      else if (source[end] === first || end >= source.length) return end + 1;
    }
  }
  if (!'([{'.includes(first)) return at + 1;
  let end = at + 1;
  while (end < source.length && !')]}'.includes(source[end] ?? '')) end = skip(source, end);
  return end + 1;
}

/** From `at` to the first of these signs that stands outside of brackets and literals. */
function upTo(source: string, at: number, signs: string): Span {
  let to = at;
  while (to < source.length && !signs.includes(source[to] ?? '')) to = skip(source, to);
  return { from: at, to };
}

/** What stands between the ANDs of the text literals in a part of a source. What a placeholder alone stands for is found where it is made. */
function conjunctsIn(source: string, { from, to }: Span): Span[] {
  const found: Span[] = [];
  for (let at = from; at < to; at = skip(source, at)) {
    const first = source[at] ?? '';
    if ('([{'.includes(first)) found.push(...conjunctsIn(source, { from: at + 1, to: skip(source, at) - 1 }));
    if (!'\'"`'.includes(first)) continue;
    const end = skip(source, at) - 1;
    for (let start = at + 1, inside = start; inside <= end; ) {
      if (inside === end || source.startsWith(' AND ', inside)) {
        found.push({ from: start, to: inside });
        start = inside + ' AND '.length;
        inside = start;
      } else if (source.startsWith('${', inside)) inside = skip(source, inside + 1);
      else inside = source[inside] === '(' ? skip(source, inside) : inside + 1;
    }
  }
  return found.filter((span) => /[=<>(]/.test(source.slice(span.from, span.to).replace(/\$\{[^}]*\}/g, '')));
}

/** Every condition of the conditional writes: in what is called `condition`, is passed to it, or is made by a function that is called there. */
export function listConditions(): Condition[] {
  return folders.flatMap((folder) =>
    readdirSync(folder).flatMap((name) => {
      const file = join(folder, name);
      const source = readFileSync(file, 'utf8');
      const given = [...source.matchAll(/\b(?:ConditionExpression|condition): /g)].map(({ 0: found, index }) =>
        upTo(source, index + found.length, ',}'),
      );
      const passed = [...source.matchAll(/\bcondition(?=\()/g)].map(({ 0: found, index }) => {
        const from = index + found.length;
        return { from, to: skip(source, from) };
      });
      const made = new Set(given.flatMap(({ from, to }) => [...source.slice(from, to).matchAll(/\b(\w+)\(/g)].map(([, called]) => called)));
      const definitions = [...made].flatMap((called) =>
        [...source.matchAll(new RegExp(`\\bconst ${called} = `, 'g'))].map(({ 0: found, index }) =>
          upTo(source, index + found.length, ';'),
        ),
      );
      const spans = [...given, ...passed, ...definitions].flatMap((span) => conjunctsIn(source, span));
      const seen = new Map<string, number>();
      return [...new Map(spans.map((span) => [span.from, span])).values()]
        .toSorted((left, right) => left.from - right.from)
        .map(({ from, to }) => {
          const text = source.slice(from, to);
          const nth = (seen.get(text) ?? 0) + 1;
          seen.set(text, nth);
          return { id: `${name}: ${text}${nth > 1 ? ` (${nth})` : ''}`, file, text, from, to };
        });
    }),
  );
}

/** The source without the condition. */
export function withoutCondition({ file, from, to }: Condition): string {
  const source = readFileSync(file, 'utf8');
  return source.slice(0, from) + nothing + source.slice(to);
}
