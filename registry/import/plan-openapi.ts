import { originOf } from '../../functions/core/relay/url-template.ts';
import { type IntentInput, methods } from '../../schemas/intent.ts';
import { intentUid } from '../../schemas/intent-uid.ts';
import { distinguish, nameAction } from './action-name.ts';
import { chooseCredential, describeCredentials, describeOtherCredential } from './credentials.ts';
import { DocumentError } from './document.ts';
import { findFixedHeaders, type HeaderRules, readCredentialNames } from './headers.ts';
import { makeRequest, type RequestContext } from './inputs.ts';
import { noteForeignMembers, noteMisplaced } from './misplaced.ts';
import { digest, isNamespace, majorVersion, makePathSlug, makeSlug, readTitle } from './naming.ts';
import { type AddNote, isNode, list, type Node, type Note, node, pathOf, resolve, rootOf, text, texts, Unfit, written } from './node.ts';
import type { Operation } from './operation.ts';
import { makeOutputs, readResponseHeaders } from './outputs.ts';
import { writePlaces } from './places.ts';
import { checkPlanned, distinct, type ImportOptions, type ImportPlan, planOne, type Skipped } from './plan.ts';
import { openSchemaReader } from './schema.ts';
import { chooseServer, hasServers } from './server.ts';
import { makeService } from './service.ts';
import { modernize, readServers } from './swagger.ts';
import { fitDescription, fitName } from './text.ts';

const knownMethods = new Map(methods.map((method) => [method.toLowerCase(), method]));
const otherMethods = ['head', 'options', 'trace', 'query'];

interface Listed extends Operation {
  /** such as `GET /orders` */
  title: string;
  slug: string;
}

/** Plans an intent for each operation, or skips it with a reason. */
export function planOpenApi(document: unknown, options: ImportOptions): ImportPlan {
  const given = rootOf(document);
  const isSwagger = given.swagger !== undefined;
  const root = isSwagger ? { ...given, servers: readServers(given) } : given;
  const notes: Note[] = [];
  const addNote: AddNote = (path, note) => notes.push({ path, note });
  const skipped: Skipped[] = [];
  const info = node(root.info);
  if (/^3\.2\./.test(`${written(given.openapi)}.`))
    addNote('/openapi', 'OpenAPI 3.2 is read as 3.1; features that only 3.2 has are left out');
  noteForeignMembers(given, isSwagger, addNote);
  const schemes = node(isSwagger ? given.securityDefinitions : node(given.components).securitySchemes);
  const readSchema = openSchemaReader(addNote);
  const operations = resolveCollisions(listOperations(root, skipped), skipped, addNote);
  /** The operation and its path item, which may have servers; in Swagger, operations may have schemes of their own. */
  const levelsOf = ({ node: operation, pathItem }: Operation): Node[] => {
    if (!isSwagger) return [operation, pathItem];
    return operation.schemes === undefined || options.baseUrl !== undefined
      ? []
      : [{ ...operation, servers: readServers(given, operation) }];
  };
  const serviceUrl = readServiceUrl(root, operations.map(levelsOf), options);
  const home = new URL(options.serviceUrl ?? serviceUrl).origin;
  const addresses = operations.map(({ path }) => new URL(serviceUrl).pathname + path);
  const version = options.version ?? majorVersion(written(info.version) ?? '', addresses) ?? 'v1';
  const namespace = readNamespace(serviceUrl, options);
  const credentialNames = readCredentialNames(schemes, operations);
  const credential = chooseCredential(schemes, securityOf(root, operations), credentialNames.header);
  const headers: HeaderRules = {
    credentials: credentialNames,
    fixed: findFixedHeaders(options.findsHeaders === false ? [] : operations, credentialNames, options.headers ?? {}),
    ignored: new Set(options.ignoreHeaders?.map((name) => name.toLowerCase())),
  };

  const intents: { intent: IntentInput; operation: Operation }[] = [];
  const progress = options.progress?.('Planning', operations.length);
  for (const operation of operations) {
    progress?.step();
    // notes on skipped operations are discarded
    const ownNotes: Note[] = [];
    const planned = planOne(operation.title, skipped, () => {
      const uid = `${namespace}:${operation.slug}:${version}`;
      const note: AddNote = (path, note) => ownNotes.push({ path, note });
      const source = pathOf(operation.node);
      const levels = levelsOf(operation);
      const server = chooseServer([...levels, root], options);
      const placed = writePlaces(operation, note);
      const intent = makeIntent(uid, server, isSwagger ? modernize(placed, given) : placed, options, {
        headers,
        readSchema,
        isBefore31: isSwagger || /^3\.0\./.test(`${written(given.openapi)}.`),
        addNote: note,
      });
      const checked = checkPlanned(intent, source, serviceUrl, options, !levels.some(hasServers));
      const origin = originOf(checked.endpoint.url);
      if (origin !== home) note(source, `is called at ${origin}, where the service's credential is not sent unless its origins include it`);
      const other = describeOtherCredential(operation.node.security ?? root.security, schemes, credential);
      if (other !== undefined) note(source, other);
      noteMisplaced(operation, isSwagger, note);
      return checked;
    });
    if (planned === undefined) continue;
    intents.push({ intent: planned, operation });
    for (const note of ownNotes) notes.push(note);
  }
  progress?.end();
  const service = makeService(
    {
      service_name: options.serviceName ?? text(info.title),
      description: text(info.description) ?? text(info.summary),
      service_url: serviceUrl,
      service_logo_url: text(node(info['x-logo']).url),
      service_terms_of_service_url: text(info.termsOfService),
    },
    Object.fromEntries([...headers.fixed.values()].map(({ name, value }) => [name, value])),
    '/info',
    addNote,
  );
  return {
    service,
    version,
    intents: nameApart(intents),
    skipped,
    notes: distinct(notes),
    credentials: describeCredentials(schemes),
    credentialLocations: credential.locations,
  };
}

/** The document's security requirement, else that of most operations. */
function securityOf(root: Node, operations: readonly Operation[]): unknown {
  if (root.security !== undefined) return root.security;
  const groups = Map.groupBy(
    operations.map(({ node: { security } }) => security).filter((security) => list(security).length > 0),
    (security) => JSON.stringify(security),
  );
  return [...groups.values()].sort((left, right) => right.length - left.length)[0]?.[0];
}

/**
 * The server of the document. If it has none, but most operations do: the one that all operations at the most frequent origin share, else that origin.
 * @param operations - the levels of each at which it may have servers of its own
 */
function readServiceUrl(root: Node, operations: readonly (readonly Node[])[], options: ImportOptions): string {
  const isStated = options.baseUrl !== undefined || hasServers(root);
  const located = isStated ? [] : operations.filter((levels) => levels.some(hasServers));
  const own = located.flatMap((levels) => planOne('', [], () => chooseServer([...levels, root], options)) ?? []);
  if (own.length > 0 && own.length * 2 >= operations.length) {
    const [[origin, urls] = ['', []]] = [...Map.groupBy(own, (url) => new URL(url).origin)].sort(
      ([, left], [, right]) => right.length - left.length,
    );
    return urls.every((url) => url === urls[0]) ? (urls[0] ?? origin) : origin;
  }
  try {
    const url = chooseServer([root], options);
    if (!url.includes('?')) return url;
    throw new Unfit('/servers', 'has a server address with a query, which paths cannot follow; give one without a query with --base-url');
  } catch (error) {
    if (!(error instanceof Unfit)) throw error;
    const issues = error.path === '' ? [] : [{ path: error.path, problem: 'must be the absolute address of the API' }];
    throw new DocumentError(`The document ${error.message}, for example https://api.example.com/v1.`, issues);
  }
}

function readNamespace(serviceUrl: string, { namespace }: ImportOptions): string {
  const chosen = namespace ?? new URL(serviceUrl).hostname;
  if (isNamespace(chosen)) return chosen;
  throw new DocumentError(
    'A namespace has at most 80 letters, digits, dots and hyphens, for example api.example.com. Give one with --namespace.',
  );
}

function* listOperations(root: Node, skipped: Skipped[]): Generator<Listed> {
  const skip = (operation: string, path: string, reason: string) => skipped.push({ operation, path, reason });
  for (const [path, item] of Object.entries(node(root.paths))) {
    if (path.startsWith('x-')) continue;
    if (!path.startsWith('/')) {
      skip(path, pathOf(item), 'has a path that does not begin with a slash');
      continue;
    }
    const pathItem = planOne(path, skipped, () => resolvePathItem(item));
    if (pathItem === undefined) continue;
    for (const [name, given] of Object.entries(pathItem)) {
      const title = `${name.toUpperCase()} ${path}`;
      const method = knownMethods.get(name);
      if (method !== undefined) {
        const operation = planOne(title, skipped, () => resolveOperation(given, pathItem));
        if (operation === undefined) continue;
        const slug = makeSlug(text(operation.operationId) ?? '') || makePathSlug(method, path);
        yield { title, path, method, pathItem, node: operation, slug };
      } else if (otherMethods.includes(name)) {
        skip(title, pathOf(given) || pathOf(pathItem), `uses ${name.toUpperCase()}, which intents do not support`);
      } else if (name === 'additionalOperations') {
        for (const [other, operation] of Object.entries(node(given))) {
          skip(`${other} ${path}`, pathOf(operation) || pathOf(pathItem), `uses ${other}, which intents do not support`);
        }
      }
    }
  }
}

/** Resolves a path item, which may have members beside its reference. */
function resolvePathItem(item: unknown): Node {
  const target = resolve(item);
  return text(node(item).$ref) === undefined ? target : { ...target, ...node(item), $ref: undefined };
}

/** @throws Unfit if the operation is not described */
function resolveOperation(given: unknown, pathItem: Node): Node {
  if (!isNode(given)) throw new Unfit(pathOf(pathItem), 'is not described');
  return resolve(given);
}

/**
 * Renames all operations that share a slug by method and path, and those that still share one by a digest of both, so that their order does not matter.
 * Skips any that still collide.
 */
function resolveCollisions(operations: Iterable<Listed>, skipped: Skipped[], addNote: AddNote): Listed[] {
  const listed = [...operations];
  const bySlug = Map.groupBy(listed, ({ slug }) => slug);
  const isUnique = (slug: string) => bySlug.get(slug)?.length === 1;
  const pathSlugOf = ({ method, path }: Listed) => makePathSlug(method, path);
  const shared = Map.groupBy(
    listed.filter(({ slug }) => !isUnique(slug)),
    pathSlugOf,
  );
  const taken = new Set([...bySlug.keys()].filter(isUnique));
  return listed.flatMap((operation) => {
    const { title, method, path, node: given } = operation;
    if (isUnique(operation.slug)) return [operation];
    const plain = pathSlugOf(operation);
    const slug = shared.get(plain)?.length === 1 && !isUnique(plain) ? plain : `${plain}-${digest(`${method} ${path}`)}`;
    if (taken.has(slug)) {
      skipped.push({ operation: title, path: pathOf(given), reason: `collides with another operation that is called ${slug}` });
      return [];
    }
    taken.add(slug);
    if (slug !== operation.slug) addNote(pathOf(given), `another operation is also called ${operation.slug}; this one became ${slug}`);
    return [{ ...operation, slug }];
  });
}

function nameApart(planned: readonly { intent: IntentInput; operation: Operation }[]): IntentInput[] {
  const names = distinguish(planned.map(({ intent, operation: { method, path } }) => ({ name: intent.intent_name, method, path })));
  return planned.map(({ intent }, at) => {
    const name = fitName(names[at], '', () => {}) ?? intent.intent_name;
    return { ...intent, intent_name: name, description: intent.description === intent.intent_name ? name : intent.description };
  });
}

function makeIntent(uid: string, server: string, operation: Operation, options: ImportOptions, context: RequestContext): unknown {
  const { node: given, method, path, pathItem } = operation;
  const { addNote } = context;
  if (!intentUid.safeParse(uid).success) throw new Unfit(pathOf(given), `has no valid intent_uid: ${uid}`);
  const { inputs, template, endpoint } = makeRequest(operation, context);
  const source = pathOf(given);
  if (server.includes('?')) throw new Unfit(source, 'has a server address with a query, which its path cannot follow');
  const hasPatch = isNode(pathItem.patch);
  const name =
    readTitle(text(given.summary), source, addNote) ??
    fitName(nameAction({ method, path, operationId: text(given.operationId), hasPatch }), source, addNote) ??
    path;
  const description = fitDescription(text(given.description) ?? text(given.summary), source, addNote) ?? name;
  const responseHeaders = readResponseHeaders(operation, context);
  const isDeprecated = given.deprecated === true && options.keepDeprecated !== true;
  if (isDeprecated)
    addNote(
      pathOf(given),
      'is deprecated, so agents find its intent only by its intent_uid and cannot execute it, unless you give --keep-deprecated',
    );
  const tags = readTags(given, addNote);
  return {
    intent_uid: uid,
    intent_name: name,
    description,
    input_parameters: inputs,
    output_parameters: makeOutputs(operation, context),
    endpoint: { url: server + template, method, ...endpoint, ...(responseHeaders.length > 0 && { response_headers: responseHeaders }) },
    ...(tags.length > 0 && { tags }),
    // if the document sets it, true or false, it overrides the record
    ...(typeof given.deprecated === 'boolean' && { deprecated: isDeprecated }),
  };
}

/** The tags of an operation, without commas, which separate tags in a search. */
function readTags(operation: Node, addNote: AddNote): string[] {
  const fitted = texts(operation.tags).map((tag) => fitName(tag.replaceAll(',', ' '), pathOf(operation), addNote, 64));
  return [...new Set(fitted.filter((tag) => tag !== undefined))].slice(0, 50);
}
