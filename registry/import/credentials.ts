import { headerName } from '../../schemas/header.ts';
import { quote } from '../shell-words.ts';
import { follow, list, type Node, node, text } from './node.ts';
import type { CredentialLocation } from './plan.ts';

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
