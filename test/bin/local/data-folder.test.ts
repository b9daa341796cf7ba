import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { openDataFolder, StartError } from '../../../bin/local/data-folder.ts';
import { findOther, keepDescribed, readDescription, type StackDescription } from '../../../bin/local/stack-file.ts';
import { makeFolder } from '../../support/folder.ts';

const folder = makeFolder();

test('only one stack at a time can use a folder', () => {
  const path = join(folder, 'kept');
  const first = openDataFolder(path);
  expect(() => openDataFolder(path)).toThrow(
    new StartError(`The data folder ${path} is in use by another stack. Stop that stack, or choose another folder.`),
  );
  first.release();
  openDataFolder(path).release();
});

test('scratch folders are deleted: our own on release, those of dead processes at the next start', () => {
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

test('the description of a running stack is kept; that of a stopped one is replaced', () => {
  const project = process.cwd();
  process.chdir(folder);
  try {
    mkdirSync('.local');
    const { pid: ended } = spawnSync(process.execPath, ['--version']);
    const describe = (process_id: number) => ({ base_url: `http://127.0.0.1:${process_id}`, process_id }) as StackDescription;
    const forgetEnded = keepDescribed(describe(ended), () => 'token');
    const forget = keepDescribed(describe(process.pid), () => 'token');
    const forgetLater = keepDescribed(describe(process.ppid), () => 'token');
    expect(readDescription()).toEqual(describe(process.pid));
    expect([findOther(describe(process.pid)), findOther(describe(process.ppid))]).toEqual([undefined, describe(process.pid)]);
    forgetEnded();
    forgetLater();
    expect(readDescription()).toEqual(describe(process.pid));
    // killed, and its process id is in use again
    const later = { ...describe(process.pid), process_id: process.ppid };
    const forgetSame = keepDescribed(later, () => 'token');
    expect(readDescription()).toEqual(later);
    forgetSame();
    forget();
    expect(readDescription()).toBeUndefined();
  } finally {
    process.chdir(project);
  }
});

test('"npm run dev" keeps its data and passwords in a folder that git ignores, so that a restart after a save changes neither', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
  const [, folder = ''] = / --data (\S+)$/.exec(scripts.dev) ?? [];
  expect(folder).toBe('.local/dev');
  expect(readFileSync('.gitignore', 'utf8').split('\n')).toContain('.local/');
});
