import { type IntentInput, methods } from '../../schemas/intent.ts';
import { intentUid } from '../../schemas/intent-uid.ts';
import { distinguish, nameAction } from './action-name.ts';
import { describeCredentials, findCredentialLocations } from './credentials.ts';
import { DocumentError } from './document.ts';
import { findFixedHeaders, type HeaderRules, readCredentialNames } from './headers.ts';
import { makeRequest, type RequestContext } from './inputs.ts';
import { isNamespace, majorVersion, makePathSlug, makeSlug, readTitle } from './naming.ts';
import { type AddNote, isNode, list, type Node, type Note, node, pathOf, resolve, rootOf, text, texts, Unfit, written } from './node.ts';
import type { Operation } from './operation.ts';
import { makeOutputs } from './outputs.ts';
import { checkPlanned, distinct, type ImportOptions, type ImportPlan, planOne, type Skipped } from './plan.ts';
import { openSchemaReader } from './schema.ts';
import { chooseServer } from './server.ts';
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
  const serviceUrl = readServiceUrl(root, options);
  if (/^3\.2\./.test(`${written(given.openapi)}.`))
    addNote('/openapi', 'OpenAPI 3.2 is read as 3.1; features that only 3.2 has are left out');
  const schemes = node(isSwagger ? given.securityDefinitions : node(given.components).securitySchemes);
  const readSchema = openSchemaReader(addNote);
  const operations = resolveCollisions(listOperations(root, skipped), skipped, addNote);
  const addresses = operations.map(({ path }) => new URL(serviceUrl).pathname + path);
  const version = options.version ?? majorVersion(written(info.version) ?? '', addresses) ?? 'v1';
  const namespace = readNamespace(serviceUrl, options);
  const credentialNames = readCredentialNames(schemes, operations);
  const headers: HeaderRules = {
    credentials: credentialNames,
    fixed: findFixedHeaders(options.findsHeaders === false ? [] : operations, credentialNames, options.headers ?? {}),
    ignored: new Set(options.ignoreHeaders?.map((name) => name.toLowerCase())),
  };

  const intents: { intent: IntentInput; operation: Operation }[] = [];
  for (const operation of operations) {
    // notes on skipped operations are discarded
    const ownNotes: Note[] = [];
    const planned = planOne(operation.title, skipped, () => {
      const uid = `${namespace}:${operation.slug}:${version}`;
      const intent = makeIntent(uid, isSwagger ? modernize(operation, given) : operation, root, options, {
        headers,
        readSchema,
        addNote: (path, note) => ownNotes.push({ path, note }),
      });
      return checkPlanned(intent, pathOf(operation.node), serviceUrl, options);
    });
    if (planned === undefined) continue;
    intents.push({ intent: planned, operation });
    notes.push(...ownNotes);
  }
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
    credentialLocations: findCredentialLocations(schemes, securityOf(root, operations), credentialNames.header),
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

function readServiceUrl(root: Node, options: ImportOptions): string {
  try {
    const url = chooseServer([root], options);
    if (url.includes('?'))
      throw new DocumentError('The address of the API has a query, which paths cannot follow. Give it without one with --base-url.');
    if (URL.canParse(url)) return url;
  } catch (error) {
    if (!(error instanceof Unfit)) throw error;
  }
  throw new DocumentError(
    'The document does not give the absolute address of the API. Give it with --base-url, for example https://api.example.com/v1.',
    [{ path: '/servers', problem: 'must contain an absolute address' }],
  );
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

/** Renames all operations that share a slug by method and path, so that their order does not matter. Skips any that still collide. */
function resolveCollisions(operations: Iterable<Listed>, skipped: Skipped[], addNote: AddNote): Listed[] {
  const listed = [...operations];
  const bySlug = Map.groupBy(listed, ({ slug }) => slug);
  const isTaken = (slug: string) => (bySlug.get(slug)?.length ?? 0) > 1;
  const named = listed.map((operation) => {
    if (!isTaken(operation.slug)) return operation;
    const slug = makePathSlug(operation.method, operation.path);
    if (slug !== operation.slug)
      addNote(pathOf(operation.node), `another operation is also called ${operation.slug}; this one became ${slug}`);
    return { ...operation, slug };
  });
  const taken = new Set<string>();
  return named.filter(({ slug, title, node: operation }) => {
    if (taken.has(slug))
      skipped.push({ operation: title, path: pathOf(operation), reason: `collides with another operation that is called ${slug}` });
    return !taken.has(slug) && taken.add(slug);
  });
}

function nameApart(planned: readonly { intent: IntentInput; operation: Operation }[]): IntentInput[] {
  const names = distinguish(planned.map(({ intent, operation: { method, path } }) => ({ name: intent.intent_name, method, path })));
  return planned.map(({ intent }, at) => {
    const name = fitName(names[at], '', () => {}) ?? intent.intent_name;
    return { ...intent, intent_name: name, description: intent.description === intent.intent_name ? name : intent.description };
  });
}

function makeIntent(uid: string, operation: Operation, root: Node, options: ImportOptions, context: RequestContext): unknown {
  const { node: given, method, path, pathItem } = operation;
  const { addNote } = context;
  if (!intentUid.safeParse(uid).success) throw new Unfit(pathOf(given), `has no valid intent_uid: ${uid}`);
  const { inputs, template, contentType, body } = makeRequest(operation, context);
  const source = pathOf(given);
  const server = chooseServer([given, pathItem, root], options);
  if (server.includes('?')) throw new Unfit(source, 'has a server address with a query, which its path cannot follow');
  const hasPatch = isNode(pathItem.patch);
  const name =
    readTitle(text(given.summary), source, addNote) ??
    fitName(nameAction({ method, path, operationId: text(given.operationId), hasPatch }), source, addNote) ??
    path;
  const description = fitDescription(text(given.description) ?? text(given.summary), source, addNote) ?? name;
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
    endpoint: {
      url: server + template,
      method,
      content_type: contentType,
      ...(body !== undefined && { body }),
    },
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
