import { type Node, node, source, text, texts } from './node.ts';
import { type Operation, parseMediaType, readParameters, readSuccesses } from './operation.ts';

/** Converts to OpenAPI 3 servers: https if no scheme is given; without `host`, that of the document. */
export function readServers(root: Node, parent: Node = root): { url: string }[] {
  const [, scheme = 'https', host = ''] = /^(?:(https?):\/\/)?(.*)$/is.exec(text(root.host)?.trim() ?? '') ?? [];
  const path = `/${(text(root.basePath) ?? '').trim().replace(/^\/+/, '')}`;
  // an address inside another one names no server
  if (`${host}${path}`.includes('://')) return [{ url: '' }];
  const authority = host.split('/').filter(Boolean).join('/');
  return inherit('schemes', parent, root, scheme).map((one) => ({ url: authority === '' ? path : `${one}://${authority}${path}` }));
}

/** Converts to an OpenAPI 3 operation, with schemas unchanged. */
export function modernize({ node: operation, pathItem, ...named }: Operation, root: Node): Operation {
  const parameters = readParameters(pathItem, operation).map(modernizeParameter);
  const produces = inherit('produces', operation, root, 'application/json');
  const responses = readSuccesses(operation).map(([status, { schema, headers, [source]: at }]) => [
    status,
    { [source]: at, headers, ...(schema !== undefined && { content: contentOf(produces, { schema }) }) },
  ]);
  const modern = {
    ...operation,
    parameters: parameters.filter(({ in: where }) => where !== 'body' && where !== 'formData'),
    requestBody: readBody(parameters, inherit('consumes', operation, root, 'application/json')),
    responses: Object.fromEntries(responses),
  };
  return { ...named, pathItem: {}, node: modern };
}

function inherit(keyword: 'consumes' | 'produces' | 'schemes', operation: Node, root: Node, usual: string): string[] {
  const listed = texts((operation[keyword] === undefined ? root : operation)[keyword]);
  return listed.length > 0 ? listed : [usual];
}

const contentOf = (mediaTypes: readonly string[], form: Node): Node => Object.fromEntries(mediaTypes.map((type) => [type, form]));

/** Converts a parameter, which outside the body is its own schema. Lists are comma-separated by default. */
function modernizeParameter(parameter: Node): Node {
  const isNested = node(parameter.items).type === 'array';
  const joined = parameter.type !== 'array' ? 'multi' : isNested ? 'nested' : (text(parameter.collectionFormat) ?? 'csv');
  const usual = parameter.in === 'path' || parameter.in === 'header' ? 'simple' : 'form';
  const style = { csv: usual, multi: usual, ssv: 'spaceDelimited', pipes: 'pipeDelimited' }[joined] ?? joined;
  return { ...parameter, schema: parameter.schema ?? parameter, explode: joined === 'multi', style };
}

function readBody(parameters: readonly Node[], consumes: readonly string[]): Node | undefined {
  const fields = parameters.filter((parameter) => parameter.in === 'formData');
  const isFile = ({ type }: Node) => type === 'file';
  const [field = parameters.find((parameter) => parameter.in === 'body')] = [...fields.filter(isFile), ...fields];
  if (field === undefined) return undefined;
  const { required, schema, [source]: at } = field;
  if (fields.length === 0) return { required, content: contentOf(consumes, { schema, [source]: at }), [source]: at };
  const needed = fields.filter((one) => one.required === true).map(({ name }) => name);
  const members = (member: (one: Node) => unknown) => Object.fromEntries(fields.map((one) => [one.name, member(one)]));
  const form = {
    schema: { type: 'object', properties: members((one) => one.schema), required: needed, [source]: at },
    encoding: members((one) => one),
  };
  return { required: needed.length > 0, content: contentOf(chooseFormTypes(fields.some(isFile), consumes), form), [source]: at };
}

function chooseFormTypes(hasFile: boolean, consumes: readonly string[]): string[] {
  if (hasFile) return ['multipart/form-data'];
  const types = consumes.filter((type) =>
    ['multipart/form-data', 'application/x-www-form-urlencoded'].includes(parseMediaType(type).mediaType),
  );
  return types.length > 0 ? types : ['application/x-www-form-urlencoded'];
}
