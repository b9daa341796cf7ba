/** A placeholder of a URL template, an expression in RFC 6570: `{name}` is simple expansion, `{?name}` and `{&name}` are query expansion. */
export interface Placeholder {
  operator: '' | '?' | '&';
  names: string[];
}

export interface UrlTemplate {
  /** scheme and authority as written; never contains a placeholder */
  origin: string;
  /** path and query: literal text and placeholders, in order */
  parts: (string | Placeholder)[];
}

const start = /^[a-z][a-z0-9+.-]*:\/\/[^/?#{}\\]*/i;
const placeholder = /\{([?&]?)([\w-]+(?:[.,][\w-]+)*)\}/;

/** The canonical origin of a URL template; undefined if it has none. */
export const originOf = (url: string): string | undefined => URL.parse(start.exec(url)?.[0] ?? '')?.origin;

/**
 * Parses a URL template.
 * @returns the template, or its problem as a sentence that begins with "must"
 */
export function parseUrlTemplate(url: string): UrlTemplate | string {
  const [origin] = start.exec(url) ?? [];
  if (origin === undefined) return 'must be an absolute URL, for example https://api.example.com/orders/{id}';
  // splitting by a pattern with two groups gives: literal, operator, names, literal, ...
  const pieces = url.slice(origin.length).split(placeholder);
  const literals = pieces.filter((_, index) => index % 3 === 0);
  if (literals.some((literal) => /[{}]/.test(literal))) {
    return 'must contain only placeholders of the forms {name}, {?name} and {&name}, with several names separated by commas';
  }
  if (literals[0] === '' && pieces[1] === '') return 'must contain placeholders only in its path and query';
  const parts = pieces.flatMap((piece, index): (string | Placeholder)[] => {
    if (index % 3 === 0) return piece === '' ? [] : [piece];
    if (index % 3 === 1) return [{ operator: piece as Placeholder['operator'], names: (pieces[index + 1] ?? '').split(',') }];
    return [];
  });
  return { origin, parts };
}

export const placeholdersOf = ({ parts }: UrlTemplate): Placeholder[] => parts.filter((part) => typeof part !== 'string');

/** Names of the parameters that the URL has placeholders for. */
export const placeholderNames = (template: UrlTemplate): Set<string> => new Set(placeholdersOf(template).flatMap(({ names }) => names));
