import { pointer } from '../../functions/core/json/json.ts';
import type { IntentInput } from '../../schemas/intent.ts';
import { splitCase } from '../../schemas/intent-uid.ts';
import { parseExact } from '../../schemas/number.ts';
import { DocumentError } from '../import/document.ts';
import { makeRequest } from '../import/inputs.ts';
import { digest, isNamespace, majorVersion, makeSlug } from '../import/naming.ts';
import { type AddNote, isNode, list, locate, type Node, node, pathOf, source, text, Unfit, unreadMember, written } from '../import/node.ts';
import type { Operation } from '../import/operation.ts';
import { makeOutputs } from '../import/outputs.ts';
import { checkPlanned, type ImportOptions, type ImportPlan } from '../import/plan.ts';
import { openSchemaReader } from '../import/schema.ts';
import { makeService } from '../import/service.ts';
import { fitDescription, fitName } from '../import/text.ts';
import { Walk } from '../import/walk.ts';

/** Plans an intent for each tool of an MCP server, or skips it with a reason. */
export function planTools({ mcp_server, tools }: Node, options: ImportOptions): ImportPlan {
  const walk = new Walk(options);
  const server = node(mcp_server);
  const url = options.baseUrl ?? text(server.url);
  if (url === undefined || !URL.canParse(url))
    throw new DocumentError('The tools have no address of their server. Give it with --base-url.');
  const namespace = options.namespace ?? new URL(url).hostname;
  if (!isNamespace(namespace))
    throw new DocumentError('A namespace has at most 80 letters, digits, dots and hyphens. Give one with --namespace.');
  const version = options.version ?? majorVersion(written(server.version) ?? '', []) ?? 'v1';
  const names = new Set<string>();
  const bySlug = Map.groupBy(new Set(list(tools).map(nameOf)), makeSlug);
  const intents = list(tools).flatMap((tool, index) => {
    const name = nameOf(tool);
    return (
      walk.attempt(name, (addNote) => {
        const path = pointer(['tools', index]);
        if (names.has(name)) throw new Unfit(path, 'has the same name as another one');
        names.add(name);
        const slug = makeSlug(name);
        const own = slug === '' || (bySlug.get(slug)?.length ?? 0) > 1 ? `${slug || 'tool'}-${digest(name)}` : slug;
        const intent = makeIntent(node(tool), `${namespace}:${own}:${version}`, url, path, addNote);
        return checkPlanned(intent, path, url, options);
      }) ?? []
    );
  });
  const service = makeService(
    {
      service_name: options.serviceName ?? text(server.title) ?? text(server.name),
      description: text(server.description) ?? text(server.instructions),
      service_url: url,
    },
    options.headers ?? {},
    '/mcp_server',
    walk.addNote,
  );
  return { service, version, intents, skipped: walk.skipped, notes: walk.distinctNotes(), credentials: [], credentialLocations: [] };
}

const nameOf = (tool: unknown): string => text(node(tool).name) ?? '';

function makeIntent(tool: Node, intent_uid: string, url: string, path: string, addNote: AddNote): unknown {
  const { title, description, inputSchema, outputSchema } = tool;
  const annotations = node(tool.annotations);
  if (node(tool.execution).taskSupport === 'required') throw new Unfit(path, 'can be called only as a task');
  const name = nameOf(tool);
  const input = readSchema(inputSchema, `${path}/inputSchema`);
  const operation: Operation = {
    method: 'POST',
    path: '',
    pathItem: {},
    node: {
      [source]: path,
      requestBody: { required: true, content: { 'application/json': { schema: input } } },
      responses: isNode(outputSchema)
        ? { 200: { content: { 'application/json': { schema: readSchema(outputSchema, `${path}/outputSchema`) } } } }
        : {},
    },
  };
  const headers = {
    credentials: { header: new Set<string>(), query: new Set<string>(), cookie: new Set<string>() },
    fixed: new Map(),
    ignored: new Set<string>(),
  };
  const context = { headers, readSchema: openSchemaReader(addNote), isBefore31: false, addNote };
  const { inputs, endpoint } = makeRequest(operation, context);
  const mirrored = findMirrored(input);
  const intentName = fitName(text(title) ?? text(annotations.title) ?? wordsOf(name), path, addNote) ?? name;
  const tags = [
    ...(annotations.readOnlyHint === true ? ['read-only'] : []),
    ...(annotations.destructiveHint === true ? ['destructive'] : []),
  ];
  return {
    intent_uid,
    intent_name: intentName,
    description: fitDescription(text(description), path, addNote) ?? intentName,
    input_parameters: inputs,
    output_parameters: makeOutputs(operation, context),
    endpoint: {
      url,
      method: 'POST',
      content_type: 'application/json',
      ...(typeof endpoint.body === 'string' && { body: endpoint.body }),
      mcp: { tool: name, ...(Object.keys(mirrored).length > 0 && { headers: mirrored }) },
    },
    ...(tags.length > 0 && { tags }),
  } satisfies Omit<IntentInput, 'tags'> & { tags?: string[] };
}

/** `get_sum`, `getSum` and `admin/get-sum` become words. */
function wordsOf(name: string): string {
  const words = splitCase(name)
    .replace(/[-_./\s]+/g, ' ')
    .trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const combining = ['$ref', 'allOf', 'anyOf', 'oneOf', 'additionalProperties', 'patternProperties', 'required'];

/**
 * A schema as a document of its own, to whose root its references refer; others are never followed. One that names no members allows none: that is how
 * most tools without arguments are described.
 */
function readSchema(schema: unknown, path: string): Node {
  const copy = parseExact(JSON.stringify(isNode(schema) ? schema : {})) as Record<string, unknown>;
  const isBare = Object.keys(node(copy.properties)).length === 0 && !combining.some((keyword) => copy[keyword] !== undefined);
  if (isBare && [undefined, 'object'].includes(copy.type as string | undefined))
    Object.assign(copy, { type: 'object', additionalProperties: false });
  const elsewhere = locate({ [unreadMember]: 'leads out of the schema, and is not followed' });
  locate(copy, path, (file) => (file === '' ? undefined : elsewhere));
  return copy as Node;
}

/** The arguments that calls repeat in header fields (MCP 2026-07-28, Tools, "x-mcp-header"), by the names of these. */
function findMirrored(schema: Node, at: readonly string[] = []): Record<string, string> {
  const own: [string, string][] = [];
  for (const [name, member] of Object.entries(node(schema.properties))) {
    const path = [...at, name];
    const header = node(member)['x-mcp-header'];
    if (typeof header === 'string') own.push([header, pointer(path)]);
    else if (header !== undefined) throw new Unfit(pathOf(member), 'has an x-mcp-header that is not a text');
    own.push(...Object.entries(findMirrored(node(member), path)));
  }
  if (new Set(own.map(([name]) => name.toLowerCase())).size < own.length)
    throw new Unfit(pathOf(schema), 'has the same x-mcp-header twice');
  return Object.fromEntries(own);
}
