import type { IntentEndpoint } from '../../../schemas/intent.ts';
import { list, type Node, node, pathOf, resolve, text } from './node.ts';
import type { TakeNote } from './notes.ts';
import type { ReadSchema } from './schema.ts';

/** Why an operation cannot be an intent. It is left out and reported. */
export class Unfit extends Error {
  override readonly name = 'Unfit';
  /** where what stands in the way is written */
  readonly path: string;

  /** @param reason - ends the sentence "the operation ..." */
  constructor(path: string, reason: string) {
    super(reason);
    this.path = path;
  }
}

/** An operation of an OpenAPI 3.1 document. */
export interface Operation {
  method: IntentEndpoint['method'];
  path: string;
  pathItem: Node;
  node: Node;
}

/** What the reading of one operation needs of the reading of its document. */
export interface Reading {
  readSchema: ReadSchema;
  take: TakeNote;
}

/** What is sent or answered as one media type. */
export interface Form {
  /** without parameters, in lower case */
  mediaType: string;
  schema: unknown;
  node: Node;
}

/** The parameters of an operation and those that its path has for all; one of the operation takes the place of its namesake. */
export function readParameters(pathItem: Node, operation: Node): Node[] {
  const found = new Map<string, Node>();
  for (const parameter of [...list(pathItem.parameters), ...list(operation.parameters)].map(resolve)) {
    if (text(parameter.name) === undefined || text(parameter.in) === undefined) throw unplaced(parameter);
    found.set(`${parameter.in} ${parameter.name}`, parameter);
  }
  return [...found.values()];
}

export const unplaced = (parameter: Node): Unfit => new Unfit(pathOf(parameter), 'has a parameter without a name or a known place');

/** The successful answers; `default` counts if no other does. */
export function readSuccesses(operation: Node): [status: string, response: Node][] {
  const responses = Object.entries(node(operation.responses));
  const successes = responses.filter(([status]) => /^2(\d\d|xx)$/i.test(status));
  const chosen = successes.length > 0 ? successes : responses.filter(([status]) => status === 'default');
  return chosen.map(([status, response]) => [status, resolve(response)]);
}

export const readForms = ({ content }: Node): Form[] =>
  Object.entries(node(content)).map(([mediaType, form]) => ({
    mediaType: (mediaType.split(';')[0] ?? '').trim().toLowerCase(),
    schema: node(form).schema,
    node: node(form),
  }));
