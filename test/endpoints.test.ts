import { existsSync, globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { jwsAlgorithmNames } from '../functions/core/pat/signatures.ts';
import { sourceOf } from '../lib/bundle.ts';
import type { BackgroundFunction } from '../lib/endpoints/endpoint.ts';
import { alternatives, backgroundFunctions, type Endpoint, endpoints, hasFunction } from '../lib/endpoints.ts';
import { declarations } from '../lib/features.ts';

const guide = 'CONTRIBUTING.md, "Add an endpoint", says how';
const tests = globSync(['test/functions/**/*.test.ts', 'test/e2e/**/*.check.ts', 'test/support/**/*.ts']).map((file) => ({
  file,
  text: readFileSync(file, 'utf8'),
}));
/** What is still missing for a row, one line each. */
function listMissing(row: Endpoint | BackgroundFunction): string {
  const source = sourceOf(row.name);
  const ownTest = `test/functions/${row.name}.test.ts`;
  const isTested = tests.some(({ file, text }) => file === ownTest || text.includes(`/${source}'`));
  const isWritten = existsSync(source);
  return [
    ...(isWritten ? ('path' in row ? listFaults(row, readFileSync(source, 'utf8')) : []) : [`write ${source}: ${guide}`]),
    ...(isTested ? [] : [`write ${ownTest}, which calls createAction of ${source}: ${guide}`]),
  ].join('\n');
}

/** How the file of an endpoint differs from its row. */
function listFaults({ method, path, runs = [], credential, ...endpoint }: Endpoint, text: string): string[] {
  const title = `\`${method} ${path}\``;
  const isTitled = text.includes(`/** ${title}`) || text.includes(`/**\n * ${title}`);
  const imported = [...text.matchAll(/from '\.[./]*\/([a-z-]+)\.ts'/g)].map(([, name = '']) => name).filter((name) => names.has(name));
  const isRunning = imported.sort().join() === [...runs].sort().join();
  const isForAdmins = text.includes('export const handler = serveAdmin(');
  const changes = credential === 'admin' && method !== 'GET';
  const checksNamespace = /\.as\(admin\)|requireNamespace\(|forFullAdmins\(|changeAgent\(/.test(text);
  return [
    ...(isForAdmins === (credential === 'admin')
      ? []
      : [`let ${endpoint.name} call serveAdmin if, and only if, its row says that it is for admins`]),
    ...(!changes || checksNamespace
      ? []
      : [`let ${endpoint.name} check the admin's namespaces: stores.as(admin), requireNamespace, forFullAdmins or changeAgent`]),
    ...(isTitled ? [] : [`let the comment of createAction in ${sourceOf(endpoint.name)} begin with ${title}`]),
    ...(isRunning ? [] : [`let "runs" of ${endpoint.name} in lib/endpoints name the endpoints that its file imports: ${imported}`]),
  ];
}

const rows = [...endpoints.filter(hasFunction), ...backgroundFunctions, ...alternatives.flatMap(({ background }) => background)];

const names = new Set<string>(rows.map(({ name }) => name));

test.each(rows)('$name has its file and its test', (row) => {
  expect(listMissing(row)).toBe('');
});

test('every endpoint of a feature is under a tag that exists', () => {
  const ofFeatures = declarations.flatMap(({ endpoints: groups = {} }) => Object.values(groups).flatMap((group) => Object.keys(group)));
  expect(ofFeatures.filter((name) => !endpoints.some((endpoint) => endpoint.name === name))).toEqual([]);
});

test('every function has its row in lib/endpoints', () => {
  const known = rows.map(({ name }) => sourceOf(name));
  const handlers = globSync('functions/{*,!(core)/*}.ts').filter((file) => readFileSync(file, 'utf8').includes('export const handler'));
  expect(handlers.filter((file) => !known.includes(file))).toEqual([]);
});

test('docs/authorisation.md names the supported signature algorithms', () => {
  const [, names = ''] = /a compact JWS \(([^)]+)\)/.exec(readFileSync('docs/authorisation.md', 'utf8')) ?? [];
  expect(names.split(', ')).toEqual(jwsAlgorithmNames);
});
