import { originOf } from '../../functions/core/relay/url-template.ts';
import { type IntentInput, maxTags } from '../../schemas/intent.ts';
import { intentUid } from '../../schemas/intent-uid.ts';
import { distinguish, nameAction } from './action-name.ts';
import { chooseCredential, describeCredentials, describeOtherCredential, suggestClient } from './credentials.ts';
import { DocumentError } from './document.ts';
import { findFixedHeaders, readCredentialNames } from './headers.ts';
import { makeRequest, type RequestContext } from './inputs.ts';
import { noteForeignMembers, noteMisplaced } from './misplaced.ts';
import { isNamespace, majorVersion, readTitle } from './naming.ts';
import { type AddNote, isNode, list, type Node, node, pathOf, text, texts, Unfit, written } from './node.ts';
import type { Operation } from './operation.ts';
import { type Listed, listOperations } from './operations.ts';
import { makeOutputs, readResponseHeaders } from './outputs.ts';
import { writePlaces } from './places.ts';
import { checkPlanned, type ImportOptions, type ImportPlan } from './plan.ts';
import { chooseServer, hasServers } from './server.ts';
import { makeService } from './service.ts';
import { modernize } from './swagger.ts';
import { fitDescription, fitName } from './text.ts';
import { DocumentWalk, Walk } from './walk.ts';

/** Plans an intent for each operation, or skips it with a reason. */
export function planOpenApi(document: unknown, options: ImportOptions): ImportPlan {
  const walk = new DocumentWalk(document, options);
  const { info, schemes } = walk;
  if (walk.isVersion('3.2')) walk.addNote('/openapi', 'OpenAPI 3.2 is read as 3.1; features that only 3.2 has are left out');
  noteForeignMembers(walk.document, walk.isSwagger, walk.addNote);
  const operations = listOperations(walk);
  const shared = readShared(walk, operations);
  const { serviceUrl, version, credential, headers } = shared;
  const planned: { intent: IntentInput; operation: Operation }[] = [];
  const progress = options.progress?.('Planning', operations.length);
  for (const operation of operations) {
    progress?.step();
    const intent = walk.attempt(operation.title, (addNote) => planOperation(operation, walk, shared, addNote));
    if (intent !== undefined) planned.push({ intent, operation });
  }
  progress?.end();
  const client = suggestClient(schemes, securityOf(walk.root, operations), serviceUrl);
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
    walk.addNote,
  );
  return {
    service,
    version,
    intents: nameApart(planned),
    skipped: walk.skipped,
    notes: walk.distinctNotes(),
    credentials: describeCredentials(schemes),
    credentialLocations: credential.locations,
    ...(client && { oauth: client }),
  };
}

type Shared = ReturnType<typeof readShared>;

/** What the intents of a document share; `serviceUrl` is the address of the service in the document. */
function readShared(walk: DocumentWalk, operations: readonly Operation[]) {
  const { options, root, schemes } = walk;
  const serviceUrl = readServiceUrl(walk, operations);
  const addresses = operations.map(({ path }) => new URL(serviceUrl).pathname + path);
  const namespace = readNamespace(serviceUrl, options);
  const credentials = readCredentialNames(schemes, operations);
  const ignored = new Set(options.ignoreHeaders?.map((name) => name.toLowerCase()));
  return {
    serviceUrl,
    namespace,
    version: options.version ?? majorVersion(written(walk.info.version) ?? '', addresses) ?? 'v1',
    credential: chooseCredential(schemes, securityOf(root, operations), credentials.header),
    headers: {
      credentials,
      fixed: findFixedHeaders(options.findsHeaders === false ? [] : operations, credentials, ignored, options.headers ?? {}),
      ignored,
    },
  };
}

/** @throws Unfit if the operation cannot be an intent */
function planOperation(operation: Listed, walk: DocumentWalk, shared: Shared, addNote: AddNote): IntentInput {
  const { document, root, options, isSwagger, isBefore31, readSchema } = walk;
  const { serviceUrl, credential, headers } = shared;
  const source = pathOf(operation.node);
  const levels = walk.levelsOf(operation);
  const server = chooseServer([...levels, root], options);
  const placed = writePlaces(operation, addNote);
  const uid = `${shared.namespace}:${operation.slug}:${shared.version}`;
  const context = { headers, readSchema, isBefore31, addNote };
  const intent = makeIntent(uid, server, isSwagger ? modernize(placed, document) : placed, options, context);
  const checked = checkPlanned(intent, source, serviceUrl, options, !levels.some(hasServers));
  const origin = originOf(checked.endpoint.url);
  if (origin !== new URL(options.serviceUrl ?? serviceUrl).origin)
    addNote(source, `is called at ${origin}, where the service's credential is not sent unless its origins include it`);
  const other = describeOtherCredential(operation.node.security ?? root.security, walk.schemes, credential);
  if (other !== undefined) addNote(source, other);
  noteMisplaced(operation, isSwagger, addNote);
  return checked;
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
 */
function readServiceUrl(walk: DocumentWalk, operations: readonly Operation[]): string {
  const { root, options } = walk;
  const isStated = options.baseUrl !== undefined || hasServers(root);
  const located = isStated ? [] : operations.map((operation) => walk.levelsOf(operation)).filter((levels) => levels.some(hasServers));
  // an operation without a usable server is skipped when it is planned
  const own = located.flatMap((levels) => new Walk(options).attempt('', () => chooseServer([...levels, root], options)) ?? []);
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
  const tags = [...new Set(fitted.filter((tag) => tag !== undefined))];
  if (tags.length > maxTags) addNote(pathOf(operation), `tags were left out: an intent has at most ${maxTags}`);
  return tags.slice(0, maxTags);
}
