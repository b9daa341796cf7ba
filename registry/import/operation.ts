import type { IntentEndpoint } from '../../schemas/intent.ts';
import { type AddNote, list, membersOf, type Node, pathOf, resolve, text, Unfit } from './node.ts';
import type { ReadSchema } from './schema.ts';

export interface Operation {
  method: IntentEndpoint['method'];
  path: string;
  pathItem: Node;
  node: Node;
}

export interface Reading {
  readSchema: ReadSchema;
  addNote: AddNote;
  /** OpenAPI 3.0 or Swagger 2.0, which know no `contentMediaType` and serialise objects in forms by `style` */
  isBefore31: boolean;
}

/** A Media Type Object: one form that a body may take. */
export interface MediaType {
  /** without parameters, in lower case */
  mediaType: string;
  /** with its parameters, except charset: bodies are sent in UTF-8 */
  contentType: string;
  hasCharset: boolean;
  schema: unknown;
  node: Node;
}

/** The parameters of an operation. Its own override those of its path item; names of header fields ignore case. */
export function readParameters(pathItem: Node, operation: Node): Node[] {
  const found = new Map<string, Node>();
  for (const parameter of [...list(pathItem.parameters), ...list(operation.parameters)].map(resolve)) {
    if (text(parameter.name) === undefined || text(parameter.in) === undefined) throw unplaced(parameter, operation);
    const name = parameter.in === 'header' ? String(parameter.name).toLowerCase() : parameter.name;
    found.set(`${parameter.in} ${name}`, parameter);
  }
  return [...found.values()];
}

export const unplaced = (parameter: Node, operation: Node): Unfit =>
  new Unfit(pathOf(parameter) || pathOf(operation), 'has a parameter without a name or a known place');

/** Success responses; `default` counts only if there are no others. */
export function readSuccesses(operation: Node): [status: string, response: Node][] {
  const responses = Object.entries(membersOf(operation.responses));
  const successes = responses.filter(([status]) => /^2(\d\d|xx)$/i.test(status));
  const chosen = successes.length > 0 ? successes : responses.filter(([status]) => status === 'default');
  return chosen.map(([status, response]) => [status, resolve(response)]);
}

export const readMediaTypes = ({ content }: Node): MediaType[] =>
  Object.entries(membersOf(content)).map(([type, given]) => {
    const found = resolve(given);
    return { ...parseMediaType(type), schema: found.schema, node: found };
  });

/** A media type without its parameters, and with those that a call may send. */
export function parseMediaType(type: string): Pick<MediaType, 'mediaType' | 'contentType' | 'hasCharset'> {
  const [, essence = '', parameters = ''] = /^([^;]*)(.*)$/s.exec(type) ?? [];
  const mediaType = essence.trim().toLowerCase();
  const kept = parameters.replace(/("[^"]*")|;\s*charset\s*=(?:"[^"]*")?[^;]*/gi, '$1').replace(/(?<![;\s])[;\s]+$/, '');
  return { mediaType, contentType: mediaType + kept, hasCharset: /;\s*charset\s*=/i.test(parameters.replace(/"[^"]*"/g, '')) };
}
