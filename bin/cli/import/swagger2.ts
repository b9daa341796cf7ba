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

const places = { path: 'path', query: 'query', header: 'header', formData: 'body' } as const;

const spellings: Record<string, Spelling> = { csv: 'commas', multi: 'repeated' };

function readField(parameter: Cursor): Field {
  const name = parameter.text('name');
  const place = places[parameter.text('in') as keyof typeof places];
  if (name === undefined || place === undefined) throw new Unfit(parameter.path, 'has a parameter without a name or a known place');
  return {
    name,
    in: place,
    isRequired: place === 'path' || parameter.flag('required') === true,
    spelling: spellings[parameter.text('collectionFormat') ?? 'csv'] ?? 'other',
    schema: parameter,
    description: parameter.text('description'),
    place: parameter,
  };
}

/** What an operation consumes or produces; the document says it for those that do not. */
function readMediaTypes(keyword: 'consumes' | 'produces', operation: Cursor, document: Cursor): string[] {
  const holder = operation.child(keyword) === undefined ? document : operation;
  return holder.list(keyword).flatMap(({ value }) => (typeof value === 'string' ? [bareMediaType(value)] : []));
}

function readBody(parameters: Cursor[], mediaTypes: string[]): Body | undefined {
  const body = parameters.find((parameter) => parameter.text('in') === 'body');
  const form = parameters.filter((parameter) => parameter.text('in') === 'formData');
  const describe = (place: Cursor, usual: string, schema: Cursor | undefined): Body => ({
    place,
    isRequired: place.flag('required') === true,
    forms: (mediaTypes.length > 0 ? mediaTypes : [usual]).map((mediaType) => ({ mediaType, schema, place })),
  });
  if (body !== undefined) return describe(body, 'application/json', body.child('schema'));
  const [first] = form;
  if (first === undefined) return undefined;
  const file = form.find((parameter) => parameter.text('type') === 'file');
  if (file !== undefined)
    return {
      ...describe(file, 'multipart/form-data', undefined),
      forms: [{ mediaType: 'multipart/form-data', schema: undefined, place: file }],
    };
  return describe(first, 'application/x-www-form-urlencoded', undefined);
}

function readAnswers(operation: Cursor, document: Cursor): Answer[] {
  const produced = readMediaTypes('produces', operation, document);
  return readSuccesses(operation).map(([status, place]) => {
    const schema = place.child('schema');
    const mediaTypes = produced.length > 0 ? produced : ['application/json'];
    const isEmpty = status === '204' || schema === undefined;
    return { place, forms: isEmpty ? [] : mediaTypes.map((mediaType) => ({ mediaType, schema })) };
  });
}

/** https where the document offers it, or does not say. */
function readServers(document: Cursor, operation: Cursor = document): Server[] {
  const host = document.text('host');
  const basePath = (document.text('basePath') ?? '').replace(/\/$/, '');
  if (host === undefined) return [{ url: basePath === '' ? undefined : basePath, path: '/host' }];
  const holder = operation.child('schemes') === undefined ? document : operation;
  const schemes = holder.list('schemes').map(({ value }) => String(value));
  return (schemes.length > 0 ? schemes : ['https']).map((scheme) => ({ url: `${scheme}://${host}${basePath}`, path: '/host' }));
}

/** Swagger 2.0. */
export const swagger2: Dialect = {
  readOperation(document, path, pathItem, method, operation) {
    const parameters = readParameters(pathItem, operation);
    const fields = parameters.filter((parameter) => parameter.text('in') !== 'body').map(readField);
    return {
      method,
      path,
      place: operation,
      fields: fields.filter((field) => field.in !== 'body'),
      formFields: fields.filter((field) => field.in === 'body'),
      body: readBody(parameters, readMediaTypes('consumes', operation, document)),
      answers: readAnswers(operation, document),
      servers: readServers(document, operation),
    };
  },
  readServers: (document) => readServers(document),
  readSecuritySchemes: (document) => document.child('securityDefinitions'),
};
