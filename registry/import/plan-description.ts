import { pointer } from '../../functions/core/json/json.ts';
import { originOf } from '../../functions/core/relay/url-template.ts';
import { type IntentInput, intentInput } from '../../schemas/intent.ts';
import { isIntentUid, splitIntentUid, suggestIntentUid } from '../../schemas/intent-uid.ts';
import { type Parameter, parameter, parameterTypes } from '../../schemas/parameter.ts';
import { DocumentError } from './document.ts';
import { type AddNote, isNode, list, type Node, node, text, texts, Unfit } from './node.ts';
import { describeDefault } from './parameter.ts';
import { checkPlanned, type ImportOptions, type ImportPlan } from './plan.ts';
import { makeService } from './service.ts';
import { fitDescription, fitName } from './text.ts';
import { Walk } from './walk.ts';

/** Spellings: as in section 2.6, with an underscore, and of the overview form. */
const infoNames = ['service-info', 'service_info', 'service'];

const infoIn = (members: Node): string | undefined => infoNames.find((name) => isNode(members[name]));

export const isServiceDescription = (members: Node): boolean => infoIn(members) !== undefined && members.intents !== undefined;

/** Members that the gate provides itself; their prefix is the protocol's name. */
const ownToGate = /^security$|-(public-key|policy-file|api-discovery|api-execute)$/;

const assigned = ['intent_id', 'service_id', 'service_name', 'match', 'digest'];

const otherNames: Record<string, string> = { name: 'intent_name', parameters: 'input_parameters' };

/** Plans the import of a service description (specification section 2.6); intents keep their uids if the registry accepts them. */
export function planDescription(root: Node, options: ImportOptions): ImportPlan {
  const walk = new Walk(options);
  const { addNote } = walk;
  const infoName = infoIn(root) ?? '';
  const info = node(root[infoName]);
  const addressOf = (kind: RegExp): string | undefined =>
    Object.entries({ ...node(info.urls), ...info }).flatMap(([name, value]) => (kind.test(name) ? (text(value) ?? []) : []))[0];
  const url = options.baseUrl ?? addressOf(/^(service|base|api|website)(_url)?$|^url$/);
  if (url === undefined || !URL.canParse(url)) {
    throw new DocumentError('The service description gives no service_url. Give one with --base-url.');
  }
  for (const name of Object.keys(root)) {
    if (name === infoName || name === 'intents' || ownToGate.test(name)) continue;
    addNote(pointer([name]), `${name} was left out: the registry does not store it`);
  }
  const security = node(root.security);
  const [, policyUrl] = Object.entries(root).find(([name, value]) => name.endsWith('-policy-file') && typeof value === 'string') ?? [];
  const service = makeService(
    {
      service_name: options.serviceName ?? text(info.name),
      description: text(info.description),
      service_url: url,
      policy_url: text(policyUrl) ?? text(security.policy_url),
      service_logo_url: addressOf(/logo/),
      service_terms_of_service_url: addressOf(/terms/),
      service_privacy_policy_url: addressOf(/privacy/),
    },
    options.headers ?? {},
    pointer([infoName]),
    addNote,
  );
  const credentials = texts(security.supported_auth_methods);
  const intents = new Map<string, IntentInput>();
  for (const [index, given] of list(root.intents).entries()) {
    const path = `/intents/${index}`;
    walk.attempt(text(node(given).intent_uid) ?? path, (note) => {
      const fitted = fitIntent(renameMembers(node(given), path, note), path, note);
      const below = originBelow(fitted.endpoint, options.serviceUrl ?? url);
      if (below) note(`${path}/endpoint`, `is called at ${below}, a subdomain of the service's host`);
      const allowedOrigins = [...(options.allowedOrigins ?? []), ...(below ? [below] : [])];
      const checked = checkPlanned(fitted, path, url, { ...options, allowedOrigins });
      if (intents.has(checked.intent_uid)) throw new Unfit(path, 'has the same intent_uid as another one');
      intents.set(checked.intent_uid, checked);
    });
  }
  const { skipped } = walk;
  return { service, intents: [...intents.values()], skipped, notes: walk.distinctNotes(), credentials, credentialLocations: [] };
}

/** The origin of an endpoint on a subdomain of the service, such as `api.shop.example` for `shop.example`. */
function originBelow(endpoint: unknown, serviceUrl: string): string | undefined {
  const there = URL.parse(originOf(text(endpoint) ?? text(node(endpoint).url) ?? '') ?? '');
  const home = URL.parse(serviceUrl);
  if (!there || !home || there.protocol !== home.protocol || there.port !== home.port) return undefined;
  const host = home.hostname.replace(/^www\./, '');
  return host.includes('.') && there.hostname.endsWith(`.${host}`) ? there.origin : undefined;
}

function renameMembers(given: Node, path: string, addNote: AddNote): Node {
  const renamed = Object.entries(given).map(([name, value]): [string, unknown] => {
    const other = otherNames[name];
    if (other === undefined || Object.hasOwn(given, other)) return [name, value];
    addNote(path + pointer([name]), `the member ${name} was taken as ${other}`);
    return [other, value];
  });
  if (!Object.hasOwn(given, 'output_parameters')) addNote(path, 'the response is not described, so it is not checked');
  return { output_parameters: [], ...Object.fromEntries(renamed) };
}

function fitIntent(given: Node, path: string, addNote: AddNote): Node {
  const { intent_uid, version, endpoint, ...rest } = keepKnown(given, intentInput.shape, assigned, path, addNote);
  const fitted = Object.entries(rest).map(([member, value]): [string, unknown] => {
    const source = `${path}/${member}`;
    if (typeof value === 'string' && (member === 'intent_name' || member === 'category'))
      return [member, fitName(value, source, addNote) ?? value];
    if (typeof value === 'string' && member === 'description') return [member, fitDescription(value, source, addNote) ?? value];
    if (Array.isArray(value) && member === 'tags')
      return [member, value.map((tag, at) => (typeof tag === 'string' ? (fitName(tag, `${source}/${at}`, addNote, 64) ?? tag) : tag))];
    if (member.endsWith('_parameters')) return [member, fitParameters(value, source, addNote)];
    return [member, value];
  });
  const intent = Object.fromEntries(fitted);
  const uid = fitUid(intent_uid, `${path}/intent_uid`, addNote);
  const isOwnVersion = version === undefined || (typeof uid === 'string' && version === splitIntentUid(uid).version);
  if (!isOwnVersion) addNote(`${path}/version`, 'the version was left out: it is that of the intent_uid');
  return {
    ...intent,
    intent_uid: uid,
    ...(version !== undefined && isOwnVersion && { version }),
    ...(endpoint !== undefined && { endpoint: typeof endpoint === 'string' ? fitEndpoint(endpoint, intent, path, addNote) : endpoint }),
  };
}

function keepKnown(given: Node, shape: object, silent: readonly string[], path: string, addNote: AddNote): Node {
  const entries = Object.entries(given).filter(([name]) => {
    if (Object.hasOwn(shape, name)) return true;
    if (!silent.includes(name)) addNote(path + pointer([name]), `the member ${name} was left out: the registry does not store it`);
    return false;
  });
  return Object.fromEntries(entries);
}

function fitUid(given: unknown, path: string, addNote: AddNote): unknown {
  if (typeof given !== 'string' || isIntentUid(given)) return given;
  const uid = suggestIntentUid(given);
  if (uid !== undefined) addNote(path, `the intent_uid became ${uid}: a slug has lower-case letters, digits and hyphens`);
  return uid ?? given;
}

/** Makes an endpoint of an address. Other gates percent-encode the braces of path parameters. */
function fitEndpoint(address: string, { input_parameters }: Node, path: string, addNote: AddNote): string {
  addNote(`${path}/endpoint`, 'the endpoint is only an address; it will be called with POST and JSON');
  const names = list(input_parameters).map((input) => node(input).name);
  return address.replace(/%7B([\w.-]+)%7D/gi, (escaped, name) => (names.includes(name) ? `{${name}}` : escaped));
}

/** Accepts parameters as a list or, as in JSON Schema, by name. */
function fitParameters(given: unknown, path: string, addNote: AddNote): unknown {
  if (Array.isArray(given)) return given.map((one, at) => (isNode(one) ? fitParameter(one, `${path}/${at}`, addNote) : one));
  if (!isNode(given)) return given;
  // a schema, as opposed to parameters of which one is named "properties"
  const isSchema = isNode(given.properties) && Object.values(given.properties).every(isNode);
  const [members, required] = isSchema ? [node(given.properties), texts(given.required)] : [given, []];
  if (!Object.values(members).every(isNode)) return given;
  addNote(path, 'the parameters became a list');
  return Object.entries(members).map(([name, schema]) => {
    const source = `${path}${isSchema ? '/properties' : ''}${pointer([name])}`;
    return fitParameter({ ...node(schema), name, ...(required.includes(name) && { required: true }) }, source, addNote);
  });
}

function fitParameter(given: Node, path: string, addNote: AddNote): Node {
  const { description, type, default: fallback, ...rest } = keepKnown(given, parameter.shape, ['title'], path, addNote);
  const fitted = typeof description === 'string' ? fitDescription(description, `${path}/description`, addNote) : description;
  const known = [type].flat().find((one) => parameterTypes.some((name) => name === one && name !== 'null'));
  if (known === undefined && type === undefined) addNote(path, 'the parameter has no type, so it accepts any');
  const fittedParameter = { ...rest, type: known ?? type ?? 'any', ...(fitted !== undefined && { description: fitted }) };
  const isText = fitted === undefined || typeof fitted === 'string';
  return isText ? { ...describeDefault({ ...(fittedParameter as Parameter), default: fallback }) } : fittedParameter;
}
