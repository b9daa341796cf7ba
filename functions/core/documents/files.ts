import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { ApiDocument } from '../../../schemas/openapi.ts';

/** What lies beside a function's bundle: synthesis has put it there. */
const beside = (name: string) => new URL(name, import.meta.url);

/** The OpenAPI document of the deployment; where nothing is bundled, the one at the top of the repository. */
export function readApiDocument(): ApiDocument {
  const file = beside('openapi.json');
  return JSON.parse(readFileSync(existsSync(file) ? file : new URL('../../../openapi.json', import.meta.url), 'utf8'));
}

/** The reference page, whose place for the policy is still empty. */
export const readPage = (): string => readFileSync(beside('page.html'), 'utf8');

/** A file that the reference page loads. The name is looked up among those that there are, and never becomes part of a path. */
export function readAsset(name: string): string | undefined {
  const folder = beside('assets/');
  const found = readdirSync(folder).find((known) => known === name);
  return found && readFileSync(new URL(found, folder), 'utf8');
}
