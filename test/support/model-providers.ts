/** A tool as MCP servers list it. */
export interface ListedTool {
  name: string;
  inputSchema: object;
  outputSchema?: object | undefined;
}

/** Keywords for schemas, by what the providers of models do with a request that contains them in a tool. */
interface Provider {
  /** every keyword that it accepts */
  accepts: string[];
  /** keywords that it refuses at the top */
  refusesAtTop?: string[];
  name: RegExp;
  /** names of arguments */
  argument?: RegExp;
  /** largest bound of a repetition, such as `maxLength` */
  maxBound?: number;
}

const combining = ['oneOf', 'anyOf', 'allOf', 'not', 'enum'];
const common = ['type', 'description', 'title', 'enum', 'properties', 'required', 'additionalProperties', 'items'];
const bounds = ['minimum', 'maximum', 'minItems', 'maxItems'];

/** From the documentation of each, and from reports of requests that it refused. */
export const providers: Record<string, Provider> = {
  'OpenAI function calling (not strict)': {
    accepts: [...common, ...bounds, 'const', 'default', 'format', 'minLength', 'maxLength', 'anyOf', '$defs', '$ref'],
    refusesAtTop: combining,
    name: /^[a-zA-Z0-9_-]{1,64}$/,
  },
  'Gemini function declarations (Schema and JSON schema)': {
    accepts: [...common, ...bounds, 'format', 'anyOf'],
    name: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/,
    argument: /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/,
  },
  'Anthropic tools': {
    accepts: [...common, ...bounds, 'const', 'default', 'format', 'pattern', 'minLength', 'maxLength', 'anyOf', 'oneOf', 'allOf'],
    refusesAtTop: combining,
    name: /^[a-zA-Z0-9_-]{1,64}$/,
    argument: /^[a-zA-Z0-9_.-]{1,64}$/,
  },
  'llama.cpp grammars': {
    accepts: [...common, ...bounds, 'const', 'default', 'format', 'minLength', 'maxLength', 'anyOf', 'oneOf', 'allOf', '$defs', '$ref'],
    name: /^[a-zA-Z0-9_-]{1,64}$/,
    maxBound: 1_000,
  },
};

/** Hosts put the name of the server before that of the tool, such as `mcp__intent-gate__`. */
const prefixLength = 24;

/** Why a provider would refuse a request with this tool. */
export function findRefused(tool: ListedTool): string[] {
  return Object.entries(providers).flatMap(([provider, rules]) =>
    problemsOf(tool, rules).map((problem) => `${provider} refuses ${tool.name}: ${problem}`),
  );
}

function problemsOf({ name, inputSchema, outputSchema }: ListedTool, provider: Provider): string[] {
  const isNamed = provider.name.test(`_${'x'.repeat(prefixLength - 1)}${name}`) && provider.name.test(name);
  const top = inputSchema as Record<string, unknown>;
  return [
    ...(isNamed ? [] : ['its name']),
    ...(top.type === 'object' && isObject(top.properties) ? [] : ['its input, which is no object with properties']),
    ...(provider.refusesAtTop ?? []).filter((keyword) => keyword in top).map((keyword) => `${keyword} at the top`),
    ...[inputSchema, ...(outputSchema ? [outputSchema] : [])].flatMap((schema) => refusedIn(schema, '', provider)),
  ];
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

function refusedIn(schema: unknown, at: string, provider: Provider): string[] {
  if (typeof schema === 'boolean') return [];
  if (!isObject(schema)) return [`${at} is no schema`];
  const { accepts, argument, maxBound = Number.POSITIVE_INFINITY } = provider;
  const { type, properties, items, additionalProperties } = schema;
  const bounded = ['minLength', 'maxLength', 'minItems', 'maxItems'].filter((keyword) => Number(schema[keyword] ?? 0) > maxBound);
  const names = isObject(properties) ? Object.keys(properties) : [];
  return [
    ...Object.keys(schema)
      .filter((keyword) => !accepts.includes(keyword))
      .map((keyword) => `${at}/${keyword}`),
    ...(typeof type === 'string' ? [] : [`${at}, which has no single type`]),
    ...(type === 'array' && items === undefined ? [`${at}, which has no items`] : []),
    ...bounded.map((keyword) => `${at}/${keyword} above ${maxBound}`),
    ...names.filter((name) => argument?.test(name) === false).map((name) => `the name ${at}/properties/${name}`),
    ...names.flatMap((name) => refusedIn((properties as Record<string, unknown>)[name], `${at}/properties/${name}`, provider)),
    ...(items === undefined ? [] : refusedIn(items, `${at}/items`, provider)),
    ...(isObject(additionalProperties) ? refusedIn(additionalProperties, `${at}/additionalProperties`, provider) : []),
  ];
}
