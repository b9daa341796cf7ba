import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { endpoints } from '../lib/endpoints.ts';
import { describeSettings } from '../lib/settings.ts';
import { errorTable } from '../schemas/errors.ts';

/** Most words of README.md, CONTRIBUTING.md and docs/ together, without the rows of tables. */
const maxWords = 28_000;

const pages = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/*.md')];
const textOf = (page: string): string => readFileSync(page, 'utf8');
const isRow = (line: string): boolean => /^ *\|/.test(line);

interface Table {
  page: string;
  /** the cells of its first line */
  head: string;
  rows: string[][];
  lines: string[];
}

const tables = pages.flatMap((page) =>
  [...textOf(page).matchAll(/(?:^ *\|.*\n)+/gm)].map(([text]): Table => {
    const [head = '', , ...lines] = text.trim().split('\n');
    const cellsOf = (line: string) =>
      line
        .trim()
        .slice(1, -1)
        .split(' | ')
        .map((cell) => cell.trim());
    return { page, head: cellsOf(head).join(' | '), rows: lines.map(cellsOf), lines };
  }),
);

const codeIn = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
const firstCells = ({ rows }: Table): string[] => rows.map(([cell = '']) => cell);

function namesFiles({ rows }: Table): void {
  const paths = rows.flatMap((cells) => codeIn(cells.join(' ')));
  const complete = paths.filter((path) => /^(?:bin|client|functions|lib|samples|schemas|test)\//.test(path));
  expect(complete.length).toBeGreaterThan(5);
  expect(complete.filter((path) => !existsSync(path))).toEqual([]);
}

const credentials = { none: 'none', pat: 'Bearer PAT', admin: 'Bearer admin token' };

/** What each table says is compared with the code: by its check, or by the tests that are named. Pages that are written by a program have none. */
const checks: Record<string, ((table: Table) => void) | string> = {
  '# | method | path | credential | success': ({ lines }) =>
    expect(lines).toEqual(
      endpoints.map(
        ({ row, method, path, credential, success }) =>
          `| ${row ?? ''} | ${method} | \`${path}\` | ${credentials[credential]} | ${success} |`,
      ),
    ),
  'code | status | reference | meaning': ({ lines }) =>
    expect(lines).toEqual(
      Object.entries(errorTable).map(
        ([code, { status, reference, meaning }]) => `| ${code} | ${status} | PROTO-${reference} | ${meaning} |`,
      ),
    ),
  'setting | default | meaning': ({ lines }) =>
    expect(lines).toEqual(describeSettings().map(({ name, fallback, meaning }) => `| \`${name}\` | ${fallback} | ${meaning} |`)),
  'folder | contents': (table) => {
    namesFiles(table);
    const folders = readdirSync('.', { withFileTypes: true }).filter(
      (entry) => entry.isDirectory() && !/^(\.|node_modules|docs|cdk)/.test(entry.name),
    );
    expect(firstCells(table)).toEqual(expect.arrayContaining(folders.map(({ name }) => `\`${name}/\``)));
  },
  'in `functions/core/` | contents': (table) => {
    const rooms = readdirSync('functions/core', { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(firstCells(table).slice(1).sort()).toEqual(rooms.map(({ name }) => `\`${name}/\``).sort());
  },
  'looking for | start at': namesFiles,
  'response | what to do': (table) => {
    const named = firstCells(table).flatMap((cell) =>
      [...cell.matchAll(/[A-Z]+(?:_[A-Z]+)+|FORBIDDEN|UNAUTHORIZED|CONFLICT/g)].map(([code]) => code),
    );
    expect([...new Set(named)].sort()).toEqual(Object.keys(errorTable).sort());
  },
  'script | what it does': (table) => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
    for (const command of firstCells(table).flatMap(codeIn)) {
      const [, script = ''] = /^npm (?:run )?(?:--silent )?([\w:]+)/.exec(command) ?? [];
      expect([command, Object.keys(scripts).includes(script) || existsSync(command)]).toEqual([command, true]);
    }
  },
  'term | meaning': ({ rows }) => {
    expect(rows.length).toBeLessThanOrEqual(30);
    const rest = pages
      .filter((page) => page !== 'docs/README.md')
      .map(textOf)
      .join('\n')
      .toLowerCase();
    expect(rows.filter(([term = '']) => !rest.includes(term.toLowerCase())).map(([term]) => term)).toEqual([]);
  },
};

/** Pages whose tables are still to be tested or written out. */
const unfinished =
  /^docs\/(agents|authorisation|calls|command-line|console|frameworks|import|mcp|operations|policy|proofs|search|security)\.md$/;

test.each(tables.filter(({ page }) => !unfinished.test(page) && !textOf(page).includes('<!-- Written by "npm run')))(
  '$page: the table "$head" is tested',
  (table) => {
    const check = checks[table.head];
    if (typeof check === 'string') expect(existsSync(check)).toBe(true);
    else {
      expect(check).toBeDefined();
      check?.(table);
    }
  },
);

test('every check has its table', () => {
  const heads = tables.map(({ head }) => head);
  expect(Object.keys(checks).filter((head) => !heads.includes(head))).toEqual([]);
});

test('the documentation is no longer than its readers have time for', () => {
  const prose = pages.flatMap((page) =>
    textOf(page)
      .split('\n')
      .filter((line) => !isRow(line)),
  );
  expect(prose.join('\n').split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(maxWords);
});

test('where a status and a code stand together, they belong together', () => {
  const pairs = pages.flatMap((page) => [
    ...textOf(page).matchAll(/\b([45]\d\d) `?([A-Z]+(?:_[A-Z]+)+|FORBIDDEN|UNAUTHORIZED|CONFLICT)\b/g),
  ]);
  const statusesOf = ({ status, meaning }: { status: number; meaning: string }) => [
    status,
    ...(meaning.match(/\b\d{3}\b/g) ?? []).map(Number),
  ];
  const known = new Map(Object.entries(errorTable).map(([code, row]) => [code, statusesOf(row)]));
  expect(pairs.length).toBeGreaterThan(20);
  expect(pairs.filter(([, status, code = '']) => !known.get(code)?.includes(Number(status))).map(([pair]) => pair)).toEqual([]);
});

describe('links', () => {
  const sources = [
    ...pages,
    ...globSync(['client/**/*.md', 'samples/**/*.md', 'SECURITY.md', 'CHANGELOG.md']).filter((page) => !page.includes('node_modules')),
  ];
  /** As GitHub names the headings of a page. */
  const anchorsOf = (page: string): string[] =>
    [
      ...textOf(page)
        .replaceAll(/^```.*?^```/gms, '')
        .matchAll(/^#+ (.+)$/gm),
    ].map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );

  test.each(sources)('of %s lead somewhere', (page) => {
    const links = [...textOf(page).matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)].map(([, link = '', image = '']) => link || image);
    const broken = links.filter((link) => {
      if (/^[a-z]+:/.test(link)) return false;
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : join(dirname(page), path);
      return !existsSync(target) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
    });
    expect(broken).toEqual([]);
  });
});

test('every endpoint of the specification has its row', () => {
  expect(endpoints.flatMap(({ row }) => row ?? []).sort((a, b) => a - b)).toEqual(Array.from({ length: 13 }, (_, index) => index + 1));
});
