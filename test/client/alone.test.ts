import { globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

/** What runs in Node alone. */
const forNode = ['client/file-agreement-store.ts', 'client/file-key-store.ts', 'client/private-files.ts', 'client/mcp-stdio.ts'];

test('the client imports nothing but itself, and Node where it says so', () => {
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
