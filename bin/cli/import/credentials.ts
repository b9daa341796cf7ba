import type { CredentialNames } from './headers.ts';
import { follow, isNode, list, type Node, node, text } from './node.ts';

/** The values by which callers prove themselves together; what stands in angle brackets is to be filled in. */
export interface CredentialShape {
  headers: Record<string, string>;
  query: Record<string, string>;
}

/** What the document says about credentials, for the admin who sets the service's credential. */
export const describeCredentials = (schemes: Node): string[] =>
  Object.entries(schemes).map(([name, scheme]) => `${name}: ${describeScheme(node(follow(scheme)))}`);

const isBasic = ({ type, scheme }: Node): boolean => /^basic$/i.test(String(scheme ?? type));

function describeScheme(given: Node): string {
  const { type, in: place, name, scheme } = given;
  switch (type) {
    case 'apiKey':
      return place === 'query' ? `a key in the query (${name})` : `a key in the ${place} ${name}`;
    case 'http':
    case 'basic':
      return isBasic(given)
        ? 'the header Authorization: Basic <name and password>'
        : `the header Authorization: ${text(scheme) ?? 'Bearer'} <credentials>`;
    case 'oauth2':
    case 'openIdConnect':
      return 'the header Authorization: Bearer <access token>, which has to be renewed';
    default:
      return Object.keys(given).length > 0 ? `a scheme of the type ${text(type) ?? 'unknown'}` : 'a scheme that is described elsewhere';
  }
}

const placeholder = (name: unknown): string =>
  `<${String(name)
    .replace(/[^\w-]+/g, ' ')
    .trim()
    .toLowerCase()}>`;

/**
 * What callers send, by the first way in which the document says that they may prove themselves.
 * @param names - those of headers that can be nothing else count too, if there is no scheme
 */
export function shapeCredential(root: Node, schemes: Node, names: CredentialNames): CredentialShape | undefined {
  const needed = list(root.security).find((requirement) => isNode(requirement) && Object.keys(requirement).length > 0);
  const asked = needed === undefined ? Object.keys(schemes) : Object.keys(node(needed));
  const keys = asked.map((name) => node(follow(schemes[name]))).filter(({ type }) => type !== undefined);
  // without a statement of what belongs together: keys may, but one of several other ways is enough
  const chosen = needed !== undefined || keys.every(({ type }) => type === 'apiKey') ? keys : keys.slice(0, 1);
  const shape: CredentialShape = { headers: {}, query: {} };
  for (const scheme of chosen) {
    const { type, in: place, name } = scheme;
    if (type === 'apiKey' && place === 'query') shape.query[String(name)] = placeholder(name);
    else if (type === 'apiKey' && place === 'cookie') shape.headers.Cookie = `${name}=${placeholder(name)}`;
    else if (type === 'apiKey') shape.headers[String(name)] = placeholder(name);
    else if (['http', 'basic'].includes(String(type)) && isBasic(scheme)) shape.headers.Authorization = 'Basic <base64 of name:password>';
    else shape.headers.Authorization = 'Bearer <token>';
  }
  if (chosen.length === 0) for (const name of names.header) shape.headers[name] = placeholder(name);
  return Object.keys({ ...shape.headers, ...shape.query }).length > 0 ? shape : undefined;
}
