import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

test('why all tests of a file are skipped is on standard error', async () => {
  const jest = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--verbose=false'];
  const { stderr } = await promisify(execFile)(process.execPath, [...jest, '--testMatch', '<rootDir>/test/support/skipped.ts']);
  expect(stderr).toContain(
    'Not tested: a host.\n  Command failed: pip install a-host\n  ERROR: No matching distribution found for a-host\n',
  );
  expect(stderr).toContain('1 skipped, 1 total');
});
