import { type AddNote, membersOf, type Node, type Note, node, rootOf, Unfit, written } from './node.ts';
import type { Reading } from './operation.ts';
import type { ImportOptions, Skipped } from './plan.ts';
import { openSchemaReader } from './schema.ts';
import { readServers } from './swagger.ts';

/** What planning a document carries along: the options, and what has been noted and skipped so far. */
export class Walk {
  readonly options: ImportOptions;
  readonly notes: Note[] = [];
  readonly skipped: Skipped[] = [];
  readonly addNote: AddNote = (path, note) => this.notes.push({ path, note });

  constructor(options: ImportOptions) {
    this.options = options;
  }

  /** Runs `work`; if it throws Unfit, records the operation as skipped, discards the notes of `work`, and returns undefined. */
  attempt<T>(operation: string, work: (addNote: AddNote) => T): T | undefined {
    const notes: Note[] = [];
    try {
      const result = work((path, note) => notes.push({ path, note }));
      for (const note of notes) this.notes.push(note);
      return result;
    } catch (error) {
      if (!(error instanceof Unfit)) throw error;
      this.skipped.push({ operation, path: error.path, reason: error.message });
      return undefined;
    }
  }

  /** The notes, each of them once. */
  distinctNotes(): Note[] {
    return [...new Map(this.notes.map((note) => [`${note.path}\n${note.note}`, note])).values()];
  }
}

/** The walk over an OpenAPI or Swagger document. */
export class DocumentWalk extends Walk implements Reading {
  /** as written */
  readonly document: Node;
  /** the document with servers, which Swagger has in other members */
  readonly root: Node;
  readonly info: Node;
  /** security schemes by name */
  readonly schemes: Node;
  readonly isSwagger: boolean;
  readonly isBefore31: boolean;
  readonly readSchema = openSchemaReader(this.addNote);

  constructor(document: unknown, options: ImportOptions) {
    super(options);
    this.document = rootOf(document);
    this.isSwagger = this.document.swagger !== undefined;
    this.isBefore31 = this.isSwagger || this.isVersion('3.0');
    this.root = this.isSwagger ? { ...this.document, servers: readServers(this.document) } : this.document;
    this.info = node(this.root.info);
    const components = membersOf(this.document.components, this.addNote);
    this.schemes = membersOf(this.isSwagger ? this.document.securityDefinitions : components.securitySchemes, this.addNote);
  }

  isVersion(version: string): boolean {
    return `${written(this.document.openapi)}.`.startsWith(`${version}.`);
  }

  /** The operation and its path item, which may have servers; in Swagger, operations may have schemes of their own. */
  levelsOf({ node: operation, pathItem }: { node: Node; pathItem: Node }): Node[] {
    if (!this.isSwagger) return [operation, pathItem];
    return operation.schemes === undefined || this.options.baseUrl !== undefined
      ? []
      : [{ ...operation, servers: readServers(this.document, operation) }];
  }
}
