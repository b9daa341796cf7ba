import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { ApiDocument } from '../../../schemas/openapi.ts';

/** The files beside a function's bundle, which synthesis has put there. */
const beside = (name: string) => new URL(name, import.meta.url);

/** The OpenAPI document of the deployment; if nothing is bundled, the one at the root of the repository. */
export function readApiDocument(): ApiDocument {
  const file = beside('openapi.json');
  return JSON.parse(readFileSync(existsSync(file) ? file : new URL('../../../openapi.json', import.meta.url), 'utf8'));
}

/** The page of `/docs`, with its place for the policy still empty. */
export const readPage = (): string => readFileSync(beside('page.html'), 'utf8');

/** The page of the console, with its place for the deployment still empty. */
export const readConsole = (): string => readFileSync(beside('console.html'), 'utf8');

/** A file that one of the pages loads. The name is looked up among the existing files, and never becomes part of a path. */
export function readAsset(name: string): string | undefined {
  const folder = beside('assets/');
  const found = readdirSync(folder).find((known) => known === name);
  return found && readFileSync(new URL(found, folder), 'utf8');
}
