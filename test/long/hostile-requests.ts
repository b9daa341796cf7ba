import type { ApiDocument, ApiOperation, ApiParameter, JsonSchema } from '../../schemas/openapi.ts';
import { chooseWith } from '../support/random.ts';

/** A request that may be anything but proper. */
export interface HostileRequest {
  operationId: string;
  method: string;
  /** path template of the operation */
  route: string;
  /** path and query */
  target: string;
  headers: [name: string, value: string][];
  body?: string;
}

/** What requests are made of, besides hostile values. */
export interface Material {
  document: ApiDocument;
  /** ids and names that exist, by the name of the path parameter */
  known: Record<string, string[]>;
  /** bearer tokens of every kind, good ones included */
  tokens: string[];
  /** occurs in hostile values, and must not come back in a refusal */
  canary: string;
}

/** Makes requests at random: proper ones from the OpenAPI document, most of them spoilt in up to three places. */
export function openHostileRequests({ document, known, tokens, canary }: Material, random: () => number) {
  const { below, pick } = chooseWith(random);
  const chance = (share: number): boolean => random() < share;

  const hostileTexts: (() => string)[] = [
    () => '',
    () => ' ',
    () => canary,
    () => `${canary}${'x'.repeat(pick([300, 5_000, 70_000]))}`,
    () => `../../${canary}`,
    () => `${canary}%00%2e%2e%2f`,
    () => `${canary}\u0000\u001b[2J`,
    () => `\u202e${canary}\u{e0041}\u200b`,
    () => `{{${canary}}}\${${canary}}{${canary}}`,
    () => `' OR 1=1 --${canary}`,
    () => `<script>${canary}</script>`,
    () => `"${canary}" NEAR(${canary} AND`,
    () => '((((a+)+)+)+)+$',
    () => 'http://169.254.169.254/latest/meta-data',
    () => 'https://user:pass@localhost:1/?{a}{?b}#c',
    () => 'a:b:v1',
    () => `${'a'.repeat(260)}:b:v1`,
    () => '01ARZ3NDEKTSV4RRFFQ69G5FAV',
    () => '-1',
    () => '9007199254740993',
    () => '\ud800',
  ];
  const hostileValues: (() => unknown)[] = [
    ...hostileTexts,
    () => null,
    () => true,
    () => -0,
    () => 1e308,
    () => 2 ** 53 + 2,
    () => -1.5,
    () => [],
    () => ({}),
    () => Array.from({ length: pick([3, 200, 3_000]) }, () => pick([0, canary, null])),
    () => nest(pick([5, 31, 40])),
    () => ({ toString: canary, constructor: { prototype: {} }, length: -1 }),
    () => Object.fromEntries(Array.from({ length: pick([3, 300]) }, (_, at) => [`m${at}`, canary])),
  ];
  const nest = (depth: number): unknown => (depth === 0 ? canary : chance(0.5) ? [nest(depth - 1)] : { a: nest(depth - 1) });
  const hostileBodies: (() => string)[] = [
    () => '',
    () => '{',
    () => '[]',
    () => 'null',
    () => `"${canary}"`,
    () => `{"a":1,"a":"${canary}"}`,
    () => `{"__proto__":{"admin":"${canary}"}}`,
    () => '{"a":1e999}',
    () => '{"a":"\\ud800"}',
    () => `\ufeff{"a":"${canary}"}`,
    () => '['.repeat(5_000),
    () => `{"a":"${'x'.repeat(300_000)}"}`,
    () => `agent_id=${canary}`,
  ];
  const hostileHeaders: (() => [string, string])[] = [
    () => [
      'Content-Type',
      pick(['text/plain', 'application/json; charset=utf-16', 'application/xml', '', 'multipart/form-data; boundary=x']),
    ],
    () => ['Idempotency-Key', pick(['', 'a', `${canary}`, 'x'.repeat(300), 'ü', '"quoted"', 'a,b'])],
    () => ['If-Match', pick(['*', '""', `"${canary}"`, 'W/"a"', 'x'.repeat(5_000)])],
    () => ['If-None-Match', pick(['*', '""', `"${canary}"`, ','.repeat(500)])],
    () => ['DPoP', pick(['', 'a.b.c', canary, pick(tokens)])],
    () => ['Authorization', pick(['', 'Bearer', 'Bearer a b', `Basic ${canary}`, `Bearer ${canary}`, `DPoP ${pick(tokens)}`])],
    () => ['Origin', pick(['null', 'https://evil.example', canary])],
    () => ['X-HTTP-Method-Override', 'DELETE'],
    () => ['X-Forwarded-Host', `${canary}.example`],
    () => ['Accept', pick(['text/html', '*/*;q=0', canary])],
    () => ['MCP-Protocol-Version', pick(['2025-11-25', '2026-07-28', '1999', ''])],
  ];

  const resolve = (schema: JsonSchema): JsonSchema => {
    const name = schema.$ref?.split('/').at(-1);
    return name === undefined ? schema : resolve(document.components.schemas[name] ?? {});
  };

  /** A value that fits a schema as far as its types go. */
  function fitting(given: JsonSchema, depth = 0): unknown {
    const schema = resolve(given);
    const { enum: choices, const: only, anyOf, oneOf, allOf, items, examples } = schema as Record<string, JsonSchema[] & JsonSchema>;
    if ('const' in schema) return only;
    if (choices) return pick(choices);
    if (examples && chance(0.8)) return pick(examples);
    if (anyOf ?? oneOf) return fitting(pick(anyOf ?? oneOf ?? []), depth);
    if (allOf) return Object.assign({}, ...allOf.map((part) => fitting(part, depth)));
    switch (Array.isArray(schema.type) ? pick(schema.type as string[]) : schema.type) {
      case 'object':
        return Object.fromEntries(
          Object.entries(schema.properties ?? {})
            .filter(([name]) => schema.required?.includes(name) || (depth < 4 && chance(0.3)))
            .map(([name, property]) => [name, fitting(property, depth + 1)]),
        );
      case 'array':
        return Array.from({ length: depth > 4 ? 0 : below(3) }, () => fitting(items ?? {}, depth + 1));
      case 'integer':
        return below(100) + 1;
      case 'number':
        return below(1_000) / 10;
      case 'boolean':
        return chance(0.5);
      case 'null':
        return null;
      default:
        return schema.format === 'uri'
          ? 'https://world.example/orders'
          : pick(['text', 'get-country', 'world.example:get-country:v1', 'A1']);
    }
  }

  /** The same value, spoilt in one place at random. */
  function spoil(value: unknown): unknown {
    if (typeof value !== 'object' || value === null || chance(0.2)) return pick(hostileValues)();
    if (Array.isArray(value)) {
      const copy = [...value];
      if (copy.length > 0 && chance(0.6)) copy[below(copy.length)] = spoil(copy[0]);
      else copy.push(pick(hostileValues)());
      return copy;
    }
    const names = Object.keys(value);
    const name = pick(names);
    const members: Record<string, unknown> = { ...value };
    if (name === undefined || chance(0.15)) members[pick(['unknown', 'admin', 'service_id', 'rev', '~1/', 'ü'])] = pick(hostileValues)();
    else if (chance(0.2)) delete members[name];
    else members[name] = spoil(members[name]);
    return members;
  }

  const operations = Object.entries(document.paths).flatMap(([route, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ route, method: method.toUpperCase(), operation })),
  );

  const parametersOf = ({ parameters = [] }: ApiOperation): ApiParameter[] =>
    parameters.filter((parameter): parameter is ApiParameter => 'in' in parameter);

  const encode = (text: string): string => encodeURIComponent(text.toWellFormed());

  function writeTarget(route: string, operation: ApiOperation): string {
    const path = route.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const text = chance(0.7) ? pick(known[name] ?? ['none']) : pick(hostileTexts)().slice(0, 2_000);
      // without a segment, the path would be that of another operation
      return (chance(0.95) ? encode(text) : text.replaceAll(/[^\w:.~%-]/g, '')) || 'none';
    });
    const pairs = parametersOf(operation)
      .filter((parameter) => parameter.in === 'query' && chance(0.4))
      .map(({ name, schema, example }) => {
        const value = chance(0.3) ? pick(hostileTexts)() : String(chance(0.5) && example !== undefined ? example : fitting(schema));
        return `${name}=${encode(value.slice(0, 3_000))}`;
      });
    if (chance(0.05)) pairs.push(...pairs, `${encode(pick(hostileTexts)().slice(0, 100))}=1`);
    if (chance(0.02)) pairs.push(`tags=${Array.from({ length: 1_500 }, (_, at) => `t${at}`).join(',')}`);
    return pairs.length > 0 ? `${path}?${pairs.join('&')}` : path;
  }

  /** A call of a tool, whose arguments no schema of the document describes. */
  const toolCall = () => ({
    jsonrpc: '2.0',
    id: pick([1, 'a']),
    method: pick(['tools/call', 'tools/call', 'tools/list', 'initialize', 'ping', 'server/discover', 'notifications/initialized']),
    params: {
      name: pick(['search_intents', 'get_intent', 'accept_policy', 'execute_intent']),
      arguments: {
        query: 'which currency has a country',
        intent_uid: pick(known.intent_uid ?? []),
        parameters: { code: 'CH' },
        pat: pick(tokens),
        agent_id: canary,
        signed_policy: pick(tokens),
      },
    },
  });

  const formType = 'application/x-www-form-urlencoded';

  /** The fields of a form, some spoilt, some twice. */
  function writeForm(schema: JsonSchema): string {
    const fields = Object.entries(fitting(schema) as Record<string, unknown>).map(([name, value]) => {
      const text = chance(0.3) ? pick(hostileTexts)() : String(value);
      return `${name}=${encode(text.slice(0, 3_000))}`;
    });
    return (chance(0.1) ? [...fields, ...fields] : fields).join('&');
  }

  function writeBody({ requestBody, operationId }: ApiOperation): string | undefined {
    const form = requestBody?.content[formType];
    if (form) return chance(0.1) ? pick(hostileBodies)() : writeForm(form.schema);
    const content = requestBody?.content['application/json'];
    if (!content) return chance(0.03) ? pick(hostileBodies)() : undefined;
    if (chance(0.1)) return pick(hostileBodies)();
    const examples = Object.values(content.examples ?? {}).flatMap((example) => ('value' in example ? [example.value] : []));
    let value = operationId === 'mcp' ? toolCall() : examples.length > 0 && chance(0.5) ? pick(examples) : fitting(content.schema);
    for (let times = below(4); times > 0; times--) value = spoil(value);
    return JSON.stringify(value) ?? '';
  }

  return function next(): HostileRequest {
    const { route, method, operation } = pick(operations);
    const body = writeBody(operation);
    const isGuarded = operation.security.length > 0;
    const headers: [string, string][] = [
      ...(body !== undefined
        ? [['Content-Type', operation.requestBody?.content[formType] ? formType : 'application/json'] as [string, string]]
        : []),
      ...(chance(isGuarded ? 0.9 : 0.1) ? [['Authorization', `Bearer ${pick(tokens)}`] as [string, string]] : []),
      ...Array.from({ length: chance(0.3) ? below(3) : 0 }, () => pick(hostileHeaders)()),
    ];
    const target = writeTarget(route, operation);
    return { operationId: operation.operationId, method, route, target, headers, ...(body !== undefined && { body }) };
  };
}
