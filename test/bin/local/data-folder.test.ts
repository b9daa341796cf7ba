import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { openDataFolder, StartError } from '../../../bin/local/data-folder.ts';

const folder = mkdtempSync(join(tmpdir(), 'data-folder-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('a folder is for one stack at a time', () => {
  const path = join(folder, 'kept');
  const first = openDataFolder(path);
  expect(() => openDataFolder(path)).toThrow(
    new StartError(`The data folder ${path} is in use by another stack. Stop that stack, or choose another folder.`),
  );
  first.release();
  openDataFolder(path).release();
});

test('scratch folders go: our own at release, those of dead processes at the next start', () => {
  const { pid } = spawnSync(process.execPath, ['--version']);
  const left = join(tmpdir(), `intent-gate-${pid}-left`);
  mkdirSync(left);
  const { kept, scratch, release } = openDataFolder();
  expect(kept).toBeUndefined();
  expect(existsSync(left)).toBe(false);
  expect(existsSync(scratch)).toBe(true);
  release();
  expect(existsSync(scratch)).toBe(false);
});
