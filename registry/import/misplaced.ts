import { type AddNote, type Node, pathOf } from './node.ts';
import { type Operation, readParameters, readSuccesses } from './operation.ts';

/** Members that another version has, and which are therefore not read. References may still lead into `shared`. */
const foreign = {
  swagger: {
    version: 'Swagger 2.0',
    document: ['servers'],
    shared: ['components'],
    operation: ['requestBody', 'servers'],
    parameter: ['style', 'explode'],
    response: ['content'],
  },
  openApi: {
    version: 'OpenAPI 3',
    document: ['host', 'basePath', 'schemes', 'consumes', 'produces', 'securityDefinitions'],
    shared: ['definitions', 'parameters', 'responses'],
    operation: ['consumes', 'produces', 'schemes'],
    parameter: ['type', 'format', 'items', 'enum', 'collectionFormat'],
    response: ['schema'],
  },
} as const;

type Level = Exclude<keyof typeof foreign.swagger, 'version'>;

function noteMembers(value: Node, level: Level, isSwagger: boolean, addNote: AddNote): void {
  const { version, [level]: members } = foreign[isSwagger ? 'swagger' : 'openApi'];
  const present = members.filter((member) => value[member] !== undefined);
  if (present.length === 0) return;
  const [was, such] = present.length > 1 ? ['were', 'members'] : ['was', 'member'];
  const fate = level === 'shared' ? 'read through references only' : 'left out';
  addNote(pathOf(value), `${present.join(', ')} ${was} ${fate}: ${version} has no such ${such} here`);
}

/** Notes members of the document that its version does not have. */
export function noteForeignMembers(document: Node, isSwagger: boolean, addNote: AddNote): void {
  noteMembers(document, 'document', isSwagger, addNote);
  noteMembers(document, 'shared', isSwagger, addNote);
}

/** Notes members of an operation that its version does not have, or that must be lists. */
export function noteMisplaced({ node: operation, pathItem }: Operation, isSwagger: boolean, addNote: AddNote): void {
  for (const [value, member] of [
    [pathItem, 'parameters'],
    [operation, 'parameters'],
    [operation, 'security'],
    [operation, 'tags'],
  ] as const)
    if (!Array.isArray(value[member] ?? [])) addNote(pathOf(value), `${member} was left out: it must be a list`);
  noteMembers(operation, 'operation', isSwagger, addNote);
  for (const parameter of readParameters(pathItem, operation)) noteMembers(parameter, 'parameter', isSwagger, addNote);
  for (const [, response] of readSuccesses(operation)) noteMembers(response, 'response', isSwagger, addNote);
}
