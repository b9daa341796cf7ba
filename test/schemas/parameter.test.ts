import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import type { Parameter as ClientParameter } from '../../client/types.ts';
import type { RawNumber } from '../../schemas/number.ts';
import { type Parameter, parameter } from '../../schemas/parameter.ts';

const copy = mkdtempSync(join(tmpdir(), 'parameter-'));
afterAll(() => rmSync(copy, { recursive: true }));

/** Places in the copied project that do not compile, as `file: code`. */
function compile(): string[] {
  try {
    execFileSync(process.execPath, [resolve('node_modules/typescript/bin/tsc'), '-p', '.', '--pretty', 'false'], {
      cwd: copy,
      encoding: 'utf8',
    });
    return [];
  } catch (error) {
    const { stdout } = error as { stdout: string };
    return [...stdout.matchAll(/^([\w./-]+)\(\d+,\d+\): error (TS\d+)/gm)].map(([, file, code]) => `${file}: ${code}`);
  }
}

test('a member of parameters that is not handled does not compile, in every place that has to handle it', () => {
  for (const folder of ['client', 'functions', 'registry', 'schemas']) cpSync(folder, join(copy, folder), { recursive: true });
  for (const file of ['package.json', 'test/schemas/parameter.test.ts']) cpSync(file, join(copy, file));
  symlinkSync(resolve('node_modules'), join(copy, 'node_modules'));
  const { compilerOptions } = JSON.parse(readFileSync('tsconfig.json', 'utf8'));
  const include = ['functions/core/parameters', 'registry/import', 'test'];
  writeFileSync(join(copy, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }));
  const file = join(copy, 'schemas/parameter.ts');
  const changed = readFileSync(file, 'utf8').replace(/^( *)minimum: numeric/m, '$1uniqueItems: z.boolean().optional(),\n$&');
  writeFileSync(file, changed);
  expect(compile().sort()).toEqual([
    'functions/core/parameters/keywords.ts: TS2741',
    'registry/import/facts.ts: TS2741',
    'registry/import/schema.ts: TS2741',
    'test/schemas/parameter.test.ts: TS2741',
  ]);
});

test("the client's type of a parameter has the members of the schema", () => {
  const inSchema: Record<keyof ClientParameter, unknown> = parameter.shape;
  const inClient = {} as Required<ClientParameter> satisfies Record<keyof Parameter, unknown>;
  const asClientHasIt = (given: { [Name in keyof Parameter]-?: Exclude<Parameter[Name], undefined | RawNumber> }): ClientParameter => given;
  expect([inSchema, inClient, asClientHasIt]).toHaveLength(3);
});
