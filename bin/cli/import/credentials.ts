import type { Cursor } from './cursor.ts';

/** The headers by which callers prove themselves, in lower case. */
export const readCredentialHeaders = (schemes: Cursor | undefined): Set<string> =>
  new Set(
    (schemes?.children() ?? [])
      .filter(([, scheme]) => scheme.text('type') === 'apiKey' && scheme.text('in') === 'header')
      .map(([, scheme]) => (scheme.text('name') ?? '').toLowerCase()),
  );

/** What the document says of credentials, for the one who has to give the service one. */
export const describeCredentials = (schemes: Cursor | undefined): string[] =>
  (schemes?.children() ?? []).map(([name, scheme]) => `${name}: ${describeScheme(scheme)}`);

function describeScheme(scheme: Cursor): string {
  const type = scheme.text('type');
  switch (type) {
    case 'apiKey':
      return scheme.text('in') === 'header'
        ? `a key in the header ${scheme.text('name')}`
        : `a key in the ${scheme.text('in')} (${scheme.text('name')}), which a service's credential cannot be`;
    case 'basic':
      return 'the header Authorization: Basic <name and password>';
    case 'http':
      return `the header Authorization: ${scheme.text('scheme') ?? 'Bearer'} <credentials>`;
    case 'oauth2':
    case 'openIdConnect':
      return 'the header Authorization: Bearer <access token>, which has to be renewed';
    default:
      return scheme.text('$ref') === undefined ? `a scheme of the type ${type ?? 'unknown'}` : 'a scheme that is described elsewhere';
  }
}
