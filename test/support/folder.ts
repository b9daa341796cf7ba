import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';

/** A folder for the tests of a file or of a `describe`, which is removed after them. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'intent-gate-test-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
