import { createMagicProxy, getRaw } from '@scalar/json-magic/magic-proxy';
import { upgrade } from '@scalar/openapi-upgrader';
import { DocumentError } from './document.ts';
import { BrokenReference, isNode, list, locate, type Node, node, pathOf, place, resolve, text, texts, Unfit } from './node.ts';
import { readParameters, readSuccesses } from './operation.ts';

/** An OpenAPI document as 3.1 has it, whatever version it is written in. */
export interface OpenApi {
  root: Node;
  /** why an operation (`GET /orders`) cannot be read */
  problems: ReadonlyMap<string, Error>;
}

/**
 * Opens a parsed OpenAPI 3.0, 3.1 or Swagger 2.0 document, with those that were bundled into it.
 * @throws DocumentError
 */
export function openOpenApi(document: unknown): OpenApi {
  const given = node(locate(document));
  const problems = new Map<string, Error>();
  const upgraded = given.swagger === undefined ? upgradeTo31(given) : upgradeSwagger(given, problems);
  inheritPlaces(upgraded, '');
  return { root: createMagicProxy<Node, Node>(upgraded), problems };
}

/** An object that the upgrader made gets the place of the object that contains it. */
function inheritPlaces(value: unknown, inherited: string): void {
  for (const item of list(value)) inheritPlaces(item, inherited);
  if (!isNode(value)) return;
  const own = text(value[place]) ?? text(value['x-place']) ?? inherited;
  Object.assign(value, { [place]: own });
  for (const member of Object.values(value)) inheritPlaces(member, own);
}

function upgradeTo31(document: Node): Node {
  try {
    return node(upgrade(document, '3.1'));
  } catch (error) {
    throw new DocumentError(`The document does not conform to its version of OpenAPI: ${(error as Error).message}`);
  }
}

/** Upgrades each operation by itself, so that one that cannot be upgraded is skipped alone. */
function upgradeSwagger(given: Node, problems: Map<string, Error>): Node {
  const { paths: _, parameters, responses, definitions, securityDefinitions, ...rest } = given;
  const document = createMagicProxy<Node, Node>(given);
  const upgradeItem = (path: string, item: unknown): unknown => {
    const pathItem = followItem(item);
    if (pathItem === undefined) return item;
    // the parameters of the path have become those of each operation
    const members = Object.entries(pathItem).filter(([name]) => name !== 'parameters');
    const upgraded = members.map(([name, operation]) => {
      try {
        return [name, isNode(operation) ? upgradeOperation(document, pathItem, operation) : operation];
      } catch (error) {
        const isOurs = error instanceof Unfit;
        problems.set(
          `${name.toUpperCase()} ${path}`,
          isOurs ? error : new Unfit(pathOf(operation), `cannot be read: ${(error as Error).message}`),
        );
        return [name, getRaw(operation)];
      }
    });
    return { ...Object.fromEntries(upgraded), [place]: pathOf(pathItem) };
  };
  const upgradedPaths = Object.fromEntries(Object.entries(node(document.paths)).map(([path, item]) => [path, upgradeItem(path, item)]));
  const shell = {
    ...rest,
    schemes: schemesOf(given, given),
    definitions: nodesOf(definitions),
    securityDefinitions: nodesOf(securityDefinitions),
  };
  return { ...upgradeTo31(shell), paths: upgradedPaths };
}

const nodesOf = (members: unknown) => Object.fromEntries(Object.entries(node(members)).filter(([, member]) => isNode(member)));

function followItem(item: unknown): Node | undefined {
  try {
    return resolve(item);
  } catch (error) {
    if (error instanceof BrokenReference) return undefined;
    throw error;
  }
}

/** What the upgrader would lose is written out first: shared parameters and answers, lists, the media types of forms. */
function upgradeOperation(document: Node, pathItem: Node, operation: Node): Node {
  const parameters = readParameters(pathItem, operation).map(writeOut);
  const form = parameters.filter((parameter) => parameter.in === 'formData');
  const consumes = listOr('consumes', operation, document);
  const upgraded = upgradeTo31({
    swagger: '2.0',
    host: document.host,
    basePath: document.basePath,
    schemes: schemesOf(operation, document),
    definitions: {},
    paths: {
      '/': {
        post: {
          ...getRaw(operation),
          parameters,
          consumes: form.length > 0 ? chooseFormTypes(form, consumes) : consumes,
          produces: listOr('produces', operation, document),
          responses: Object.fromEntries(
            readSuccesses(operation).map(([status, response]) => [status, { schema: getRaw(response).schema, [place]: pathOf(response) }]),
          ),
        },
      },
    },
  });
  const { requestBody, ...rest } = node(node(node(upgraded.paths)['/']).post);
  const [field] = [...form.filter(({ type }) => type === 'file'), ...form];
  const isRequired = form.some(({ required }) => required === true);
  const body = field === undefined ? requestBody : { ...node(requestBody), required: isRequired, [place]: field['x-place'] };
  return { ...rest, ...(body !== undefined && { requestBody: body }), servers: upgraded.servers };
}

function writeOut(parameter: Node): Node {
  const format = parameter.type === 'array' ? (text(parameter.collectionFormat) ?? 'csv') : undefined;
  const isOther = format !== undefined && !['csv', 'multi'].includes(format);
  return {
    ...getRaw(parameter),
    'x-place': pathOf(parameter),
    collectionFormat: isOther ? 'pipes' : format,
    ...(isOther && { style: 'pipeDelimited' }),
  };
}

function chooseFormTypes(form: readonly Node[], consumes: readonly string[]): string[] {
  if (form.some(({ type }) => type === 'file')) return ['multipart/form-data'];
  const types = consumes.filter((type) => type === 'multipart/form-data' || type === 'application/x-www-form-urlencoded');
  return types.length > 0 ? types : ['application/x-www-form-urlencoded'];
}

/** What the operation says, else what the document says for all; JSON if neither says anything. */
function listOr(keyword: 'consumes' | 'produces', operation: Node, document: Node): string[] {
  const listed = texts((operation[keyword] === undefined ? document : operation)[keyword]);
  return listed.length > 0 ? listed : ['application/json'];
}

/** https if the document does not say. */
function schemesOf(operation: Node, document: Node): string[] {
  const listed = texts((operation.schemes === undefined ? document : operation).schemes);
  return listed.length > 0 ? listed : ['https'];
}
