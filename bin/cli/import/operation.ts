import type { IntentEndpoint } from '../../../schemas/intent.ts';
import type { Cursor } from './cursor.ts';

/** Why an operation cannot be an intent. It is left out and reported. */
export class Unfit extends Error {
  override readonly name = 'Unfit';
  /** JSON pointer to what stands in the way */
  readonly path: string;

  /** @param reason - ends the sentence "the operation ..." */
  constructor(path: string, reason: string) {
    super(reason);
    this.path = path;
  }
}

/** How a list or object is written where only text can stand: repeated (`form`, exploded), with commas, as JSON text, or in a way that no intent has. */
export type Spelling = 'repeated' | 'commas' | 'json' | 'other';

/** Something that a caller gives. */
export interface Field {
  name: string;
  in: 'path' | 'query' | 'header' | 'cookie' | 'body';
  isRequired: boolean;
  spelling: Spelling;
  /** the schema, or in Swagger 2 the parameter itself, which is written like one */
  schema: Cursor | undefined;
  description: string | undefined;
  place: Cursor;
}

/** What an operation takes as its body. */
export interface Body {
  place: Cursor;
  isRequired: boolean;
  /** media types without their parameters, each with its schema */
  forms: { mediaType: string; schema: Cursor | undefined; place: Cursor }[];
}

/** One of an operation's successful answers: its media types with their schemas; none where it has no body. */
export interface Answer {
  place: Cursor;
  forms: { mediaType: string; schema: Cursor | undefined }[];
}

export interface Server {
  /** undefined where the document does not say: then it is where the document itself was found */
  url: string | undefined;
  path: string;
}

/** An operation, whatever dialect its document is written in. */
export interface Operation {
  method: IntentEndpoint['method'];
  path: string;
  place: Cursor;
  fields: Field[];
  /** members of a form that is not described by a schema (Swagger 2) */
  formFields: Field[];
  body: Body | undefined;
  answers: Answer[];
  /** in the order of the document */
  servers: Server[];
}

/** How a dialect says what an operation is. Every reader may throw BrokenReference or Unfit. */
export interface Dialect {
  readOperation(document: Cursor, path: string, pathItem: Cursor, method: IntentEndpoint['method'], operation: Cursor): Operation;
  readServers(document: Cursor): Server[];
  readSecuritySchemes(document: Cursor): Cursor | undefined;
}

/** The parameters of an operation and those that its path has for all; one of the operation takes the place of its namesake. */
export function readParameters(pathItem: Cursor, operation: Cursor): Cursor[] {
  const found = new Map<string, Cursor>();
  for (const parameter of [...pathItem.list('parameters'), ...operation.list('parameters')]) {
    const resolved = parameter.resolve();
    found.set(`${resolved.text('in')} ${resolved.text('name')}`, resolved);
  }
  return [...found.values()];
}

/** The successful answers; `default` counts where no other does. */
export function readSuccesses(operation: Cursor): [status: string, response: Cursor][] {
  const responses = operation.child('responses')?.children() ?? [];
  const successes = responses.filter(([status]) => /^2(\d\d|xx)$/i.test(status));
  const chosen = successes.length > 0 ? successes : responses.filter(([status]) => status === 'default');
  return chosen.map(([status, response]) => [status, response.resolve()]);
}

/** A media type without its parameters, in lower case. */
export const bareMediaType = (mediaType: string): string => (mediaType.split(';')[0] ?? '').trim().toLowerCase();
