import { type IntentInput, intentUid, methods } from '../../../schemas/intent.ts';
import { describeCredentials, readCredentialHeaders } from './credentials.ts';
import { BrokenReference, type Cursor } from './cursor.ts';
import { makeRequest, type RequestContext } from './inputs.ts';
import { humanize, isNamespace, majorVersion, makePathSlug, makeSlug } from './naming.ts';
import { openNotes, type TakeNote } from './notes.ts';
import { openApi3 } from './openapi3.ts';
import { type Dialect, type Operation, Unfit } from './operation.ts';
import { makeOutputs } from './outputs.ts';
import { checkPlanned, DocumentError, describeIssues, type ImportOptions, type ImportPlan, type Skipped } from './plan.ts';
import { openSchemaReader } from './schema.ts';
import { chooseServer } from './server.ts';
import { makeService } from './service.ts';
import { swagger2 } from './swagger2.ts';
import { fitDescription, fitName } from './text.ts';

const knownMethods = new Map(methods.map((method) => [method.toLowerCase(), method]));
const otherMethods = ['head', 'options', 'trace', 'query'];

/** An operation as the document has it, named but not yet read. */
interface Listed {
  title: string;
  path: string;
  method: (typeof methods)[number];
  pathItem: Cursor;
  place: Cursor;
  slug: string;
}

/** Plans the import of an OpenAPI 3.0, 3.1 or Swagger 2.0 document: each operation becomes an intent, or is skipped with the reason. */
export function planOpenApi(root: Cursor, options: ImportOptions): ImportPlan {
  const dialect = root.text('openapi') === undefined ? swagger2 : openApi3;
  const notes = openNotes();
  const skipped: Skipped[] = [];
  const info = root.child('info') ?? root;
  const serviceUrl = readServiceUrl(root, dialect, options);
  const prefix = { namespace: readNamespace(serviceUrl, options), version: readVersion(info, options, notes.take) };
  const schemes = dialect.readSecuritySchemes(root);
  const readSchema = openSchemaReader(notes.take);
  const credentialHeaders = readCredentialHeaders(schemes);

  const intents: IntentInput[] = [];
  for (const listed of resolveCollisions(listOperations(root, skipped), skipped, notes.take)) {
    const skip = (path: string, reason: string) => skipped.push({ operation: listed.title, path, reason });
    // what is noted of an operation matters only where the operation is imported
    const ownNotes = openNotes();
    try {
      const operation = dialect.readOperation(root, listed.path, listed.pathItem, listed.method, listed.place);
      const uid = `${prefix.namespace}:${listed.slug}:${prefix.version}`;
      const checked = checkPlanned(makeIntent(uid, operation, options, { credentialHeaders, readSchema, take: ownNotes.take }), options);
      if ('intent' in checked) {
        intents.push(checked.intent);
        for (const { path, note } of ownNotes.all()) notes.take(path, note);
      } else skip(listed.place.path, `would be refused: ${describeIssues(checked.issues)}`);
    } catch (error) {
      if (!(error instanceof Unfit || error instanceof BrokenReference)) throw error;
      skip(error.path, error instanceof Unfit ? error.message : `cannot be read: ${error.message}`);
    }
  }
  const service = makeService(
    {
      name: options.serviceName ?? info.text('title'),
      description: info.text('description') ?? info.text('summary'),
      url: serviceUrl,
      logoUrl: info.child('x-logo')?.text('url'),
      termsUrl: info.text('termsOfService'),
    },
    info,
    notes.take,
  );
  return { service, intents, skipped, notes: notes.all(), credentials: describeCredentials(schemes) };
}

function readServiceUrl(root: Cursor, dialect: Dialect, options: ImportOptions): string {
  try {
    const url = chooseServer(dialect.readServers(root), options);
    if (URL.canParse(url)) return url;
  } catch (error) {
    if (!(error instanceof Unfit)) throw error;
  }
  throw new DocumentError(
    'The document does not say at which absolute address the API is. Give it with --base-url, for example https://api.example.com/v1.',
    [{ path: '/servers', problem: 'must hold an absolute address' }],
  );
}

function readNamespace(serviceUrl: string, { namespace }: ImportOptions): string {
  const chosen = namespace ?? new URL(serviceUrl).hostname;
  if (isNamespace(chosen)) return chosen;
  throw new DocumentError(
    'A namespace has at most 80 letters, digits, dots and hyphens, for example api.example.com. Give one with --namespace.',
  );
}

function readVersion(info: Cursor, { version }: ImportOptions, take: TakeNote): string {
  if (version !== undefined) return version;
  const major = majorVersion(String(info.child('version')?.value ?? ''));
  if (major === undefined) take(`${info.path}/version`, 'holds no number; v1 was taken');
  return major ?? 'v1';
}

function* listOperations(root: Cursor, skipped: Skipped[]): Generator<Listed> {
  for (const [path, item] of root.child('paths')?.children() ?? []) {
    if (!path.startsWith('/')) continue;
    try {
      const pathItem = item.resolve();
      for (const [name, place] of pathItem.children()) {
        const title = `${name.toUpperCase()} ${path}`;
        const method = knownMethods.get(name);
        if (method !== undefined && place.isObject) yield { title, path, method, pathItem, place, slug: chooseSlug(place, method, path) };
        else if (otherMethods.includes(name))
          skipped.push({ operation: title, path: place.path, reason: `uses ${name.toUpperCase()}, which no intent does` });
      }
    } catch (error) {
      if (!(error instanceof BrokenReference)) throw error;
      skipped.push({ operation: path, path: error.path, reason: `cannot be read: ${error.message}` });
    }
  }
}

const chooseSlug = (place: Cursor, method: string, path: string): string =>
  makeSlug(place.text('operationId') ?? '') || makePathSlug(method, path);

/** Operations whose ids come to one slug are all named by method and path, so that their order does not matter. Who then still collides is skipped. */
function resolveCollisions(operations: Iterable<Listed>, skipped: Skipped[], take: TakeNote): Listed[] {
  const listed = [...operations];
  const bySlug = Map.groupBy(listed, ({ slug }) => slug);
  const isTaken = (slug: string) => (bySlug.get(slug)?.length ?? 0) > 1;
  const settled = listed.map((operation) => {
    if (!isTaken(operation.slug)) return operation;
    const slug = makePathSlug(operation.method, operation.path);
    if (slug !== operation.slug) take(operation.place.path, `another operation is also called ${operation.slug}; this one became ${slug}`);
    return { ...operation, slug };
  });
  const taken = new Set<string>();
  return settled.filter(({ slug, title, place }) => {
    if (taken.has(slug))
      skipped.push({ operation: title, path: place.path, reason: `collides with another operation that is called ${slug}` });
    return !taken.has(slug) && taken.add(slug);
  });
}

function makeIntent(uid: string, operation: Operation, options: ImportOptions, context: RequestContext): Record<string, unknown> {
  const { place, method, path } = operation;
  if (!intentUid.safeParse(uid).success) throw new Unfit(place.path, `has no valid intent_uid: ${uid}`);
  const { inputs, template, contentType } = makeRequest(operation, context);
  const operationId = place.text('operationId');
  const name = fitName(place.text('summary')) ?? fitName(humanize(operationId ?? '')) ?? humanize(makePathSlug(method, path));
  const description = fitDescription(place.text('description'));
  if (description?.isCut) context.take(place.path, 'the description was cut to 4000 characters');
  const isDeprecated = place.flag('deprecated') === true && options.keepDeprecated !== true;
  if (isDeprecated)
    context.take(place.path, 'is deprecated, so its intent is found by its uid only and not executed; --keep-deprecated changes that');
  const tags = readTags(place);
  return {
    intent_uid: uid,
    intent_name: name,
    description: description?.text ?? name,
    input_parameters: inputs,
    output_parameters: makeOutputs(operation, context),
    endpoint: { url: chooseServer(operation.servers, options) + template, method, content_type: contentType },
    ...(tags.length > 0 && { tags }),
    ...(isDeprecated && { deprecated: true }),
  };
}

/** A comma separates tags in a search, so none may stand in one. */
const readTags = (place: Cursor): string[] =>
  [
    ...new Set(
      place.list('tags').flatMap(({ value }) => {
        const tag = typeof value === 'string' ? fitName(value.replaceAll(',', ' '), 64) : undefined;
        return tag === undefined ? [] : [tag];
      }),
    ),
  ].slice(0, 50);
