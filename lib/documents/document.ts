import { thisGate } from '../../schemas/documents/service-description.ts';
import { errorBody } from '../../schemas/error-body.ts';
import { intentUid } from '../../schemas/intent-uid.ts';
import type { ApiContent, ApiDocument, ApiOperation, ApiParameter, ApiResponse, Reference } from '../../schemas/openapi.ts';
import { answerOf, type Example, exampleOf, type OtherAnswer } from '../endpoints/endpoint.ts';
import { exampleBaseUrl } from '../endpoints/fixtures.ts';
import { type Endpoint, endpointsWith, pathsOf, tags } from '../endpoints.ts';
import { declarations } from '../features.ts';
import { version } from '../version.ts';
import { openErrorResponses } from './errors.ts';
import { responseHeaders } from './headers.ts';
import { requestHeaders } from './request-headers.ts';
import { openSchemas } from './schemas.ts';

/** Settings: those that enable endpoints do so unless they are `false`. */
export interface DocumentOptions extends Readonly<Record<string, unknown>> {
  protocol: string;
  aliases: boolean;
  /** text of the policy in examples */
  policy: string;
}

/**
 * The OpenAPI 3.1 document of the gate, from the table of endpoints and the schemas. Its server is an example, replaced by the gate's address
 * when the document is served.
 */
export function toOpenApi(options: DocumentOptions): ApiDocument {
  const { protocol, policy } = options;
  const schemas = openSchemas();
  const errors = openErrorResponses(protocol);

  const pathParameters: Record<string, Pick<ApiParameter, 'description' | 'schema'>> = {
    intent_uid: { description: 'the uid of the intent, which is also its `intent_id`', schema: schemas.refer(intentUid, 'input') },
    service_id: { description: 'the id that was returned when the service was registered', schema: { type: 'string' } },
    id: { description: 'the `Execution-Id` of the call', schema: { type: 'string' } },
    seq: { description: 'the number of the entry', schema: { type: 'string', pattern: '^[1-9][0-9]{0,11}$' } },
    ...Object.assign({}, ...declarations.map((feature) => feature.pathParameters)),
  };

  function listParameters({ path, method, headers, query, requestHeaders = [] }: Endpoint, example: Example): (ApiParameter | Reference)[] {
    const isConditional = method === 'GET' && headers?.includes('ETag');
    return [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(
        ([, name = '']): ApiParameter => ({
          name,
          ...(pathParameters[name] ?? noVariable(name)),
          in: 'path',
          required: true,
          ...(example.path?.[name] !== undefined && { example: example.path[name] }),
        }),
      ),
      ...(query ? schemas.listQueryParameters(query, example.query) : []),
      ...[...(isConditional ? ['If-None-Match'] : []), ...requestHeaders].map((name) => ({
        $ref: `#/components/parameters/${name}`,
      })),
    ];
  }

  function noVariable(name: string): never {
    throw new TypeError(`no declaration describes the variable {${name}} of paths`);
  }

  const exampleFor = (value: unknown): Pick<ApiContent, 'examples'> => (value === undefined ? {} : { examples: { example: { value } } });

  function describeAnswer({ mediaType = 'application/json', headers = [], ...endpoint }: Endpoint, example: Example): ApiResponse {
    const answer = answerOf(endpoint, protocol);
    return {
      description: endpoint.success === 204 ? 'Done.' : `${endpoint.summary}.`,
      headers: Object.fromEntries(['X-Request-Id' as const, ...headers].map((name) => [name, { $ref: `#/components/headers/${name}` }])),
      ...(answer && { content: { [mediaType]: { schema: schemas.refer(answer, 'output'), ...exampleFor(example.answer) } } }),
    };
  }

  const describeOther = ({ description, answer, mediaType }: OtherAnswer): ApiResponse => ({
    description,
    headers: { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' } },
    ...(answer && { content: { [mediaType ?? 'application/json']: { schema: schemas.refer(answer, 'output') } } }),
  });

  function describeOperation(endpoint: Endpoint): ApiOperation {
    const { name, tag, summary, description, credential, success, method, body, bodyType, headers, otherAnswers, needs } = endpoint;
    const example = exampleOf(endpoint, { protocol, policy });
    const parameters = listParameters(endpoint, example);
    const isConditional = method === 'GET' && headers?.includes('ETag');
    const [, ...others] = pathsOf(endpoint, options);
    return {
      operationId: name,
      summary,
      description: [description, ...(others.length === 0 ? [] : [`Also at ${others.map((path) => `\`${path}\``).join(' and ')}.`])].join(
        '\n\n',
      ),
      tags: [tag],
      security: credential !== 'none' ? [{ [credential]: [] }] : needs.adminTokens && !endpoint.runs ? [{}, { admin: [] }] : [],
      ...(parameters.length > 0 && { parameters }),
      ...(body && {
        requestBody: {
          required: true,
          content: { [bodyType ?? 'application/json']: { schema: schemas.refer(body, 'input'), ...exampleFor(example.body) } },
        },
      }),
      responses: {
        [success]: describeAnswer(endpoint, example),
        ...(isConditional && { 304: { description: 'Your copy is still current.' } }),
        ...errors.of(endpoint),
        ...Object.fromEntries(Object.entries(otherAnswers ?? {}).map(([status, other]) => [status, describeOther(other)])),
      },
    };
  }

  const paths: ApiDocument['paths'] = {};
  for (const endpoint of endpointsWith(options)) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method.toLowerCase()]: describeOperation(endpoint) };
  }
  schemas.refer(errorBody, 'output');

  return {
    openapi: '3.1.1',
    info: {
      title: thisGate.service_name,
      version,
      summary: thisGate.description,
      description: [
        'An agent finds an intent, signs the usage policy with its own key, gets a Policy Adherence Token (PAT) in return, and executes the intent with it.',
        `Every response outside 2xx is an \`Error\`: \`code\` identifies the kind of error, \`message\` says what to do next, and \`details.issues\` lists every invalid place.`,
        'Bodies are unambiguous JSON (RFC 8259): no duplicate members, no member `__proto__`, at most 32 levels, numbers within the range of double precision, no lone surrogates. Rules that a schema cannot express are also enforced with 400: no invisible characters in strings, and rules between members.',
      ].join('\n\n'),
    },
    servers: [{ url: exampleBaseUrl }],
    tags: tags.map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas.components).sort(([a], [b]) => (a < b ? -1 : 1))),
      responses: errors.responses,
      headers: responseHeaders,
      parameters: requestHeaders,
      examples: errors.examples(),
      securitySchemes: {
        pat: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A PAT, from `POST /api/pat/issue`.' },
        admin: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A Cognito access token of an admin.' },
      },
    },
  };
}
