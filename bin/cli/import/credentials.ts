import { type Node, node, text } from './node.ts';

/** The headers by which callers prove themselves, in lower case. */
export const readCredentialHeaders = (schemes: Node): Set<string> =>
  new Set(
    Object.values(schemes)
      .map(node)
      .filter((scheme) => scheme.type === 'apiKey' && scheme.in === 'header')
      .map(({ name }) => (text(name) ?? '').toLowerCase()),
  );

/** What the document says about credentials, for the admin who sets the service's credential. */
export const describeCredentials = (schemes: Node): string[] =>
  Object.entries(schemes).map(([name, scheme]) => `${name}: ${describeScheme(node(scheme))}`);

function describeScheme({ type, in: place, name, scheme, $ref }: Node): string {
  switch (type) {
    case 'apiKey':
      return place === 'header' ? `a key in the header ${name}` : `a key in the ${place} (${name}), which a service's credential cannot be`;
    case 'http':
    case 'basic':
      return /^basic$/i.test(String(scheme ?? type))
        ? 'the header Authorization: Basic <name and password>'
        : `the header Authorization: ${text(scheme) ?? 'Bearer'} <credentials>`;
    case 'oauth2':
    case 'openIdConnect':
      return 'the header Authorization: Bearer <access token>, which has to be renewed';
    default:
      return $ref === undefined ? `a scheme of the type ${text(type) ?? 'unknown'}` : 'a scheme that is described elsewhere';
  }
}
