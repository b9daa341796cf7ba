import { createMagicProxy } from '@scalar/json-magic/magic-proxy';
import { type IntentInput, methods } from '../../../schemas/intent.ts';
import { intentUid } from '../../../schemas/intent-uid.ts';
import { describeCredentials, makeCredentialOptions, readCredentialHeaders } from './credentials.ts';
import { DocumentError } from './document.ts';
import { makeRequest, type RequestContext } from './inputs.ts';
import { humanize, isNamespace, majorVersion, makePathSlug, makeSlug } from './naming.ts';
import { isNode, locate, type Node, type Note, node, pathOf, resolve, type TakeNote, text, texts, Unfit } from './node.ts';
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

/** An operation that has its name. */
interface Listed extends Operation {
  /** what people call it, such as `GET /orders` */
  title: string;
  slug: string;
}

/** Plans the import of an OpenAPI 3.0, 3.1 or Swagger 2.0 document: each operation becomes an intent, or is skipped with the reason. */
export function planOpenApi(document: unknown, options: ImportOptions): ImportPlan {
  const given = createMagicProxy<Node, Node>(node(locate(document)));
  const isSwagger = given.swagger !== undefined;
  const root = isSwagger ? { ...given, servers: readServers(given) } : given;
  const notes: Note[] = [];
  const take: TakeNote = (path, note) => notes.push({ path, note });
  const skipped: Skipped[] = [];
  const info = node(root.info);
  const serviceUrl = readServiceUrl(root, options);
  const prefix = { namespace: readNamespace(serviceUrl, options), version: readVersion(info, options, take) };
  const schemes = node(isSwagger ? given.securityDefinitions : node(given.components).securitySchemes);
  const readSchema = openSchemaReader(take);
  const credentialHeaders = readCredentialHeaders(schemes);

  const intents: IntentInput[] = [];
  for (const operation of resolveCollisions(listOperations(root, skipped), skipped, take)) {
    // notes on an operation matter only if the operation is imported
    const ownNotes: Note[] = [];
    const planned = planOne(operation.title, skipped, () => {
      const uid = `${prefix.namespace}:${operation.slug}:${prefix.version}`;
      const intent = makeIntent(uid, isSwagger ? modernize(operation, given) : operation, root, options, {
        credentialHeaders,
        readSchema,
        take: (path, note) => ownNotes.push({ path, note }),
      });
      return checkPlanned(intent, pathOf(operation.node), serviceUrl, options);
    });
    if (planned === undefined) continue;
    intents.push(planned);
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
    '/info',
    take,
  );
  const credentialOptions = makeCredentialOptions(schemes, root.security);
  return { service, intents, skipped, notes: distinct(notes), credentials: describeCredentials(schemes), credentialOptions };
}

function readServiceUrl(root: Node, options: ImportOptions): string {
  try {
    const url = chooseServer([root], options);
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

function readVersion(info: Node, { version }: ImportOptions, take: TakeNote): string {
  const major = version ?? majorVersion(String(info.version ?? ''));
  if (major === undefined) take('/info/version', 'contains no number; v1 was used');
  return major ?? 'v1';
}

function* listOperations(root: Node, skipped: Skipped[]): Generator<Listed> {
  for (const [path, item] of Object.entries(node(root.paths))) {
    const pathItem = path.startsWith('/') ? planOne(path, skipped, () => resolve(item)) : undefined;
    if (pathItem === undefined) continue;
    for (const [name, operation] of Object.entries(pathItem)) {
      const title = `${name.toUpperCase()} ${path}`;
      const method = knownMethods.get(name);
      if (method !== undefined && isNode(operation)) {
        const slug = makeSlug(text(operation.operationId) ?? '') || makePathSlug(method, path);
        yield { title, path, method, pathItem, node: operation, slug };
      } else if (otherMethods.includes(name)) {
        skipped.push({ operation: title, path: pathOf(operation), reason: `uses ${name.toUpperCase()}, which intents do not support` });
      }
    }
  }
}

/** Operations whose ids give the same slug are all named by method and path, whatever their order. Any that still collide are skipped. */
function resolveCollisions(operations: Iterable<Listed>, skipped: Skipped[], take: TakeNote): Listed[] {
  const listed = [...operations];
  const bySlug = Map.groupBy(listed, ({ slug }) => slug);
  const isTaken = (slug: string) => (bySlug.get(slug)?.length ?? 0) > 1;
  const settled = listed.map((operation) => {
    if (!isTaken(operation.slug)) return operation;
    const slug = makePathSlug(operation.method, operation.path);
    if (slug !== operation.slug)
      take(pathOf(operation.node), `another operation is also called ${operation.slug}; this one became ${slug}`);
    return { ...operation, slug };
  });
  const taken = new Set<string>();
  return settled.filter(({ slug, title, node: operation }) => {
    if (taken.has(slug))
      skipped.push({ operation: title, path: pathOf(operation), reason: `collides with another operation that is called ${slug}` });
    return !taken.has(slug) && taken.add(slug);
  });
}

function makeIntent(uid: string, operation: Operation, root: Node, options: ImportOptions, context: RequestContext): unknown {
  const { node: given, method, path, pathItem } = operation;
  const { take } = context;
  if (!intentUid.safeParse(uid).success) throw new Unfit(pathOf(given), `has no valid intent_uid: ${uid}`);
  const { inputs, template, contentType } = makeRequest(operation, context);
  const place = pathOf(given);
  const name =
    fitName(text(given.summary), place, take) ??
    fitName(humanize(text(given.operationId) ?? ''), place, take) ??
    humanize(makePathSlug(method, path));
  const description = fitDescription(text(given.description), place, take) ?? name;
  const isDeprecated = given.deprecated === true && options.keepDeprecated !== true;
  if (isDeprecated)
    take(pathOf(given), 'is deprecated, so its intent is found by its uid only and not executed; --keep-deprecated changes that');
  const tags = readTags(given, take);
  return {
    intent_uid: uid,
    intent_name: name,
    description,
    input_parameters: inputs,
    output_parameters: makeOutputs(operation, context),
    endpoint: { url: chooseServer([given, pathItem, root], options) + template, method, content_type: contentType },
    ...(tags.length > 0 && { tags }),
    ...(isDeprecated && { deprecated: true }),
  };
}

/** A comma separates tags in a search, so a tag must not contain one. */
function readTags(operation: Node, take: TakeNote): string[] {
  const fitted = texts(operation.tags).map((tag) => fitName(tag.replaceAll(',', ' '), pathOf(operation), take, 64));
  return [...new Set(fitted.filter((tag) => tag !== undefined))].slice(0, 50);
}
