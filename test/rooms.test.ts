import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';

/** Every import of the project: the file, and what it imports (a path of the project, or a package). */
const imports = globSync(['bin/**/*.ts', 'lib/**/*.ts', 'functions/**/*.ts', 'schemas/**/*.ts']).flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from|import\()\s*'([^']+)'/g)].map(([, target = '']) => ({
    file,
    target: target.startsWith('.') ? join(dirname(file), target) : target,
  })),
);

const isOwn = (target: string) => target.endsWith('.ts');
const within = (...rooms: string[]) => new RegExp(`^(${rooms.join('|')})`);

/** What the files of a room may import of this project. */
const mayImport: [room: RegExp, allowed: RegExp][] = [
  [within('schemas/'), within('schemas/')],
  [within('functions/core/environment.ts'), /^$/],
  [within('functions/core/http/'), within('functions/core/http/', 'functions/core/environment.ts', 'schemas/(errors|pagination).ts')],
  [within('functions/core/'), within('functions/core/', 'schemas/')],
  [within('functions/mcp.ts'), within('functions/', 'schemas/')],
  [within('functions/[a-z-]+.ts'), within('functions/core/', 'schemas/')],
  [within('lib/'), within('lib/', 'schemas/', 'functions/core/environment.ts', 'functions/core/policy/')],
  [within('bin/bench/'), within('bin/', 'lib/', 'functions/', 'schemas/')],
  [within('bin/'), within('bin/', 'lib/', 'functions/core/', 'schemas/', 'client/')],
];

/** Packages that belong to one room. */
const belongsTo: [name: RegExp, room: RegExp][] = [
  [/^@aws-sdk\/(client-dynamodb|lib-dynamodb)$/, within('functions/core/store/', 'bin/')],
  [/^@aws-sdk\/client-kms$/, within('functions/core/pat/', 'bin/')],
  [/^@aws-sdk\/client-secrets-manager$/, within('functions/core/store/', 'bin/')],
  [/^(undici|node:net|node:tls|node:dns.*)$/, within('functions/core/relay/', 'bin/')],
  [/^node:sqlite$/, within('functions/core/search/', 'bin/')],
  [/^(aws-cdk-lib|constructs|cdk-nag)(\/.*)?$/, within('lib/', 'bin/app.ts')],
  [/^(@middy\/core)$/, within('functions/core/http/')],
];

describe('imports', () => {
  test('are found', () => {
    expect(imports.length).toBeGreaterThan(300);
  });

  test.each(mayImport.map(([room, allowed]) => ({ room, allowed })))('of $room stay within $allowed', ({ room, allowed }) => {
    const strays = imports.filter(
      ({ file, target }) => mayImport.find(([one]) => one.test(file))?.[0] === room && isOwn(target) && !allowed.test(target),
    );
    expect(strays).toEqual([]);
  });

  test.each(belongsTo.map(([name, room]) => ({ name, room })))('of $name are in $room alone', ({ name, room }) => {
    expect(imports.filter(({ file, target }) => name.test(target) && !room.test(file))).toEqual([]);
  });
});
