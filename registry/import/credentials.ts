import { headerName } from '../../schemas/header.ts';
import { quote } from '../shell-words.ts';
import { follow, list, type Node, node, text } from './node.ts';
import type { CredentialLocation, SuggestedClient } from './plan.ts';

export const describeCredentials = (schemes: Node): string[] =>
  Object.entries(schemes).map(([name, scheme]) => `${name}: ${describeScheme(node(follow(scheme)))}`);

const isBasic = ({ type, scheme }: Node): boolean => /^basic$/i.test(String(scheme ?? type));

function describeScheme(given: Node): string {
  const { type, in: location, name, scheme } = given;
  switch (type) {
    case 'apiKey':
      if (location === 'header') return `a key in the header ${name}`;
      return `a key in the ${location} (${name})${location === 'query' ? '' : ", which a service's credential cannot fill"}`;
    case 'http':
    case 'basic':
      return isBasic(given)
        ? 'the header Authorization: Basic <name and password>'
        : `the header Authorization: ${text(scheme) ?? 'Bearer'} <credentials>`;
    case 'oauth2':
    case 'openIdConnect':
      return 'the header Authorization: Bearer <access token>, which has to be renewed';
    default:
      return Object.keys(given).length > 0 ? `a scheme of the type ${text(type) ?? 'unknown'}` : 'a scheme that is not described here';
  }
}

/** The credential that a service sends with its calls. */
export interface ServiceCredential {
  /** security schemes that it satisfies */
  names: string[];
  locations: CredentialLocation[];
}

/** All of the document's first usable requirement, else the first usable scheme, else headers that only carry credentials. */
export function chooseCredential(schemes: Node, security: unknown, headers: ReadonlySet<string>): ServiceCredential {
  const required = list(security).map((requirement) => Object.keys(node(requirement)));
  // query keys that belong together are often listed as alternatives, and sending all of them is harmless
  const keys = [...new Set(required.flat())];
  const isInQuery = ({ type, in: location }: Node): boolean => type === 'apiKey' && location === 'query';
  const isAllKeys = keys.every((name) => isInQuery(node(follow(schemes[name]))));
  const choices = [...(isAllKeys ? [keys] : []), ...required, ...Object.keys(schemes).map((name) => [name])];
  const locate = (names: readonly string[]) => names.map((name) => locationOf(node(follow(schemes[name]))));
  const names = choices.find((some) => some.length > 0 && !locate(some).includes(undefined)) ?? [];
  const likely = [...headers].map((name) => locationOf({ type: 'apiKey', in: 'header', name }));
  const chosen = names.length > 0 ? locate(names) : likely.includes(undefined) ? [] : likely;
  const byOption = new Map(chosen.flatMap((location) => (location ? [[credentialOption(location), location]] : [])));
  return { names, locations: [...byOption.values()] };
}

/**
 * The client of the document's first OAuth scheme that the gate can be: for itself with client credentials, else for people.
 * @param security - whose scopes are asked for
 * @param serviceUrl - to which addresses in the document are relative
 */
export function suggestClient(schemes: Node, security: unknown, serviceUrl: string): SuggestedClient | undefined {
  const resolve = (address: unknown) =>
    URL.canParse(String(address ?? ''), serviceUrl) && address ? new URL(String(address), serviceUrl).href : undefined;
  for (const [name, given] of Object.entries(schemes)) {
    const { type, openIdConnectUrl, flow, flows = flow === undefined ? {} : { [String(flow)]: given } } = node(follow(given));
    const asked = list(security).flatMap((requirement) => list(node(requirement)[name]).map(String));
    const scopes = [...new Set(asked)];
    const issuer = /^(.+)\/\.well-known\/openid-configuration$/.exec(resolve(openIdConnectUrl) ?? '')?.[1];
    if (type === 'openIdConnect' && issuer !== undefined) return { grant: 'person', issuer, scopes };
    if (type !== 'oauth2') continue;
    const { clientCredentials, application = clientCredentials, authorizationCode, accessCode = authorizationCode } = node(flows);
    const [own, persons] = [node(follow(application)), node(follow(accessCode))];
    const token_endpoint = resolve(own.tokenUrl);
    if (token_endpoint !== undefined) return { grant: 'client', token_endpoint, scopes };
    const endpoints = { authorization_endpoint: resolve(persons.authorizationUrl), token_endpoint: resolve(persons.tokenUrl) };
    const { authorization_endpoint, token_endpoint: forCodes } = endpoints;
    if (authorization_endpoint !== undefined && forCodes !== undefined)
      return { grant: 'person', authorization_endpoint, token_endpoint: forCodes, scopes };
  }
  return undefined;
}

/** The command that makes the gate this client, without the service. */
export const clientOptions = ({ scopes, ...client }: SuggestedClient): string[] => [
  ...Object.entries(client).map(([name, value]) => `--${name.replaceAll('_', '-')} ${quote(value)}`),
  ...(scopes.length > 0 ? [`--scope ${scopes.map(quote).join(' ')}`] : []),
];

/** What an operation with these requirements needs besides the credential, completing the sentence "the operation ..."; undefined if nothing. */
export function describeOtherCredential(security: unknown, schemes: Node, { names, locations }: ServiceCredential): string | undefined {
  const missing = list(security).map((requirement) => Object.keys(node(requirement)).filter((name) => !names.includes(name)));
  const [others] = missing;
  if (names.length === 0 || others === undefined || missing.some(({ length }) => length === 0)) return undefined;
  const isTaken = others.some((name) => {
    const location = locationOf(node(follow(schemes[name])));
    return locations.some(({ kind, name: taken }) => kind === location?.kind && taken.toLowerCase() === location.name.toLowerCase());
  });
  return isTaken
    ? `requires ${others.join(' and ')} in the place of ${names.join(' and ')}, and a service sends one credential; to call it, import the document once more with another --name and --namespace`
    : `requires ${others.join(' and ')}, which the credential of the other operations (${names.join(' and ')}) does not include`;
}

function locationOf({ type, in: kind, name = '', scheme }: Node): CredentialLocation | undefined {
  if (['http', 'basic', 'oauth2', 'openIdConnect'].includes(String(type))) {
    const written = type === 'http' ? String(scheme).toLowerCase() : type === 'basic' ? 'basic' : 'bearer';
    return { kind: 'header', name: 'Authorization', ...((written === 'bearer' || written === 'basic') && { scheme: written }) };
  }
  if (type !== 'apiKey') return undefined;
  if (kind === 'header') return headerName.safeParse(name).success ? { kind, name: String(name) } : undefined;
  return kind === 'query' && /^[\x21-\x7e]{1,100}$/.test(String(name)) ? { kind, name: String(name) } : undefined;
}

/** The matching option of `services credential set`. */
export const credentialOption = ({ kind, name, scheme }: CredentialLocation): string =>
  scheme ? `--${scheme}` : `--${kind} ${quote(name)}`;
