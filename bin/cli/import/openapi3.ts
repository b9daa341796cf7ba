import type { Cursor } from './cursor.ts';
import {
  type Answer,
  type Body,
  bareMediaType,
  type Dialect,
  type Field,
  readParameters,
  readSuccesses,
  type Server,
  type Spelling,
  Unfit,
} from './operation.ts';

const places = ['path', 'query', 'header', 'cookie'] as const;

function readField(parameter: Cursor): Field {
  const name = parameter.text('name');
  const place = places.find((known) => known === parameter.text('in'));
  if (name === undefined || place === undefined) throw new Unfit(parameter.path, 'has a parameter without a name or a known place');
  const [, content] = parameter.child('content')?.children()[0] ?? [];
  return {
    name,
    in: place,
    isRequired: place === 'path' || parameter.flag('required') === true,
    spelling: content === undefined ? readSpelling(parameter, place) : 'json',
    schema: content === undefined ? parameter.child('schema') : content.child('schema'),
    description: parameter.text('description'),
    place: parameter,
  };
}

function readSpelling(parameter: Cursor, place: Field['in']): Spelling {
  const isForm = place === 'query' || place === 'cookie';
  const style = parameter.text('style') ?? (isForm ? 'form' : 'simple');
  if (style === 'simple' && !isForm) return 'commas';
  if (style !== 'form' || !isForm) return 'other';
  return parameter.flag('explode') === false ? 'commas' : 'repeated';
}

const readForms = (holder: Cursor): Body['forms'] =>
  (holder.child('content')?.children() ?? []).map(([mediaType, place]) => ({
    mediaType: bareMediaType(mediaType),
    schema: place.child('schema'),
    place,
  }));

function readBody(operation: Cursor): Body | undefined {
  const body = operation.child('requestBody')?.resolve();
  return body && { place: body, isRequired: body.flag('required') === true, forms: readForms(body) };
}

const readAnswers = (operation: Cursor): Answer[] =>
  readSuccesses(operation).map(([status, place]) => ({ place, forms: status === '204' ? [] : readForms(place) }));

/** `{region}` in a server's URL stands for the variable's default. */
function readServer(server: Cursor): Server {
  const url = server.text('url')?.replace(/\{([^}]+)\}/g, (place, name: string) => {
    const fallback = server.child('variables')?.child(name)?.child('default')?.value;
    return fallback === undefined ? place : String(fallback);
  });
  return { url, path: `${server.path}/url` };
}

function listServers(...holders: Cursor[]): Server[] {
  const servers = holders.map((holder) => holder.list('servers')).find((list) => list.length > 0);
  return servers === undefined ? [{ url: undefined, path: '/servers' }] : servers.map(readServer);
}

/** OpenAPI 3.0 and 3.1. */
export const openApi3: Dialect = {
  readOperation: (document, path, pathItem, method, operation) => ({
    method,
    path,
    place: operation,
    fields: readParameters(pathItem, operation).map(readField),
    formFields: [],
    body: readBody(operation),
    answers: readAnswers(operation),
    servers: listServers(operation, pathItem, document),
  }),
  readServers: (document) => listServers(document),
  readSecuritySchemes: (document) => document.child('components')?.child('securitySchemes'),
};
