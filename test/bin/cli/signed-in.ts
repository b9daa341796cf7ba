import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { close, listen } from '../../../bin/local/http.ts';
import { startApi } from '../../e2e/api.ts';
import { makeFolder } from '../../support/folder.ts';
import { openSignedIn } from './command-line.ts';

export const documents = fileURLToPath(new URL('../../registry/import/described/', import.meta.url));

/** A stack with the sample services, and a command line that is signed in to it, for the tests of one file. */
export async function startSignedIn(environment?: Record<string, string>) {
  const { stack } = await startApi({ demo: true, context: { agentIds: 'shared' } });
  const folder = makeFolder();
  const commandLine = await openSignedIn(folder, stack, environment);
  return {
    ...{ stack, folder, ...commandLine },
    /** Writes JSON or text to a file in the folder. @returns its path */
    async writeTo(name: string, content: unknown): Promise<string> {
      const file = join(folder, name);
      await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
      return file;
    },
    createService: (name: string, address: string, description: string, ...more: string[]) =>
      commandLine.succeedJson('services', 'create', '--name', name, '--address', address, '--description', description, ...more),
  };
}

/** An OpenAPI document. */
export const documentOf = (title: string, url: string, paths: object, more: object = {}) => ({
  ...{ openapi: '3.1.0', info: { title, version: '1' }, servers: [{ url }] },
  ...{ paths, ...more },
});

export const responses = { 200: { description: 'Done' } };

/** The part of a document that says which key it requires. */
export const requiring = (key: object) => ({ components: { securitySchemes: { key } } });

export const rewrite = async (file: string, change: (text: string) => string) => writeFile(file, change(await readFile(file, 'utf8')));

export async function serve(answer: RequestListener) {
  const server = createServer(answer);
  return { address: `http://127.0.0.1:${await listen(server)}`, stop: () => close(server) };
}
