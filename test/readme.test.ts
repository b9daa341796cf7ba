import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { jwsAlgorithmNames } from '../functions/core/pat/signatures.ts';
import { endpoints } from '../lib/endpoints.ts';
import { describeSettings } from '../lib/settings.ts';
import { errorTable } from '../schemas/errors.ts';

const readme = readFileSync('README.md', 'utf8');

const credentials = { none: 'none', pat: 'Bearer PAT', admin: 'Bearer admin token' };

const rows = {
  endpoints: endpoints.map(
    ({ row, method, path, credential, success }) => `| ${row ?? ''} | ${method} | \`${path}\` | ${credentials[credential]} | ${success} |`,
  ),
  errors: Object.entries(errorTable).map(
    ([code, { status, reference, meaning }]) => `| ${code} | ${status} | PROTO-${reference} | ${meaning} |`,
  ),
  settings: describeSettings().map(({ name, fallback, meaning }) => `| \`${name}\` | ${fallback} | ${meaning} |`),
};

test.each(Object.entries(rows))('the README lists exactly the %s that exist', (_, expected) => {
  const [first = ''] = expected;
  const start = readme.indexOf(first);
  const table = readme.slice(start, readme.indexOf('\n\n', start)).split('\n');
  expect(table).toEqual(expected);
});

test('docs/authorisation.md lists exactly the supported signature algorithms', () => {
  const [, listed] = /^1\. a compact JWS \((.+)\) whose payload/m.exec(readFileSync('docs/authorisation.md', 'utf8')) ?? [];
  expect(listed?.split(', ')).toEqual(jwsAlgorithmNames);
});

test('every endpoint of the specification has its row', () => {
  expect(endpoints.flatMap(({ row }) => row ?? []).sort((a, b) => a - b)).toEqual(Array.from({ length: 13 }, (_, index) => index + 1));
});
