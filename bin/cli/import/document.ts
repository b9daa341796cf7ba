import { parseDocument } from 'yaml';
import type { Issue } from '../../../schemas/errors.ts';
import { CliFailure } from '../failure.ts';

/** A document that cannot be read, or that nothing can be planned from. */
export class DocumentError extends CliFailure {
  constructor(message: string, issues: readonly Issue[] = []) {
    super('usage', message, { issues });
  }
}

/**
 * Reads JSON or YAML (1.2, so that `no` is a text). Texts that begin with a brace are JSON, which is much faster to read.
 * @throws DocumentError that names the line
 */
export function readDocument(text: string): unknown {
  const content = text.replace(/^\ufeff/, '');
  if (content.trim() === '') throw new DocumentError('The document is empty.');
  return /^\s*[{[]/.test(content) ? readJson(content) : readYaml(content);
}

/** YAML has braces as well, so a text that is not quite JSON may still be YAML. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (text.length > 1_000_000) throw new DocumentError(`The document is not JSON: ${(error as Error).message}`);
    return readYaml(text);
  }
}

function readYaml(text: string): unknown {
  const document = parseDocument(text, { merge: true, prettyErrors: true, logLevel: 'error' });
  const [error] = document.errors;
  if (error) throw new DocumentError(`The document is neither JSON nor YAML: ${error.message.trim()}`);
  try {
    const value: unknown = document.toJS({ maxAliasCount: 1000 });
    // an alias may refer to its own ancestor; such a document has no JSON form and cannot be walked
    if (text.includes('*')) JSON.stringify(value);
    return value;
  } catch (error) {
    throw new DocumentError(`The aliases of the YAML document cannot be followed: ${(error as Error).message.split('\n')[0]}`);
  }
}
