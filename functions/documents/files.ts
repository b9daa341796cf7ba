import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { ApiDocument } from '../../schemas/openapi.ts';

const beside = (name: string) => new URL(name, import.meta.url);

/** The OpenAPI document of the deployment or, without a bundle, of the repository. */
export function readApiDocument(): ApiDocument {
  const file = beside('openapi.json');
  return JSON.parse(readFileSync(existsSync(file) ? file : new URL('../../openapi.json', import.meta.url), 'utf8'));
}

export const readPage = (): string => readFileSync(beside('page.html'), 'utf8');

export const readConsole = (): string => readFileSync(beside('console.html'), 'utf8');

/** A file that the pages load. Names are compared with those of existing files and never become part of a path. */
export function readAsset(name: string): string | undefined {
  const folder = beside('assets/');
  const found = readdirSync(folder).find((known) => known === name);
  return found && readFileSync(new URL(found, folder), 'utf8');
}
