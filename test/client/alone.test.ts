import { globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

/** Files that run only in Node. */
const forNode = [
  'client/file-agreement-store.ts',
  'client/file-key-store.ts',
  'client/private-files.ts',
  'client/mcp-program.ts',
  'client/mcp-stdio.ts',
];

test("the client imports only its own files, and Node's modules only in the files listed here", () => {
  const imports = globSync('client/*.ts').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/from '([^']+)'/g)].map(([, target = '']) => ({ file, target })),
  );
  expect(imports.length).toBeGreaterThan(20);
  expect(
    imports.filter(({ file, target }) => !/^\.\/[a-z-]+\.ts$/.test(target) && !(forNode.includes(file) && target.startsWith('node:'))),
  ).toEqual([]);
  const { dependencies } = JSON.parse(readFileSync('client/package.json', 'utf8'));
  expect(dependencies).toBeUndefined();
});
