import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { keepKeys } from '../../../bin/local/kms.ts';
import { makeFolder } from '../../support/folder.ts';

const path = join(makeFolder(), 'keys.json');

test('keepKeys keeps keys by name in a file that only its owner reads', () => {
  const first = keepKeys(path, new Map([['KeyA', 'ECC_NIST_P256']]));
  const second = keepKeys(
    path,
    new Map([
      ['KeyA', 'ECC_NIST_P256'],
      ['KeyB', 'ECC_NIST_EDWARDS25519'],
    ]),
  );
  expect(Object.keys(second)).toEqual(['KeyA', 'KeyB']);
  expect(second.KeyB?.spec).toBe('ECC_NIST_EDWARDS25519');
  expect(second.KeyA?.keyId).toBe(first.KeyA?.keyId);
  expect(Buffer.from(second.KeyA?.secret ?? [])).toEqual(Buffer.from(first.KeyA?.secret ?? []));
  expect(statSync(path).mode & 0o777).toBe(0o600);
});
