import { expect, test } from '@jest/globals';
import { partitions, tableOf } from '../../../functions/core/table/keys.ts';
import { signInKeys } from '../../../functions/sign-in/records.ts';

test.each([
  ['session', signInKeys.session('1')],
  ['consent', signInKeys.consent('1', '2')],
  ['signInCode', signInKeys.code('1')],
  ['refreshFamily', signInKeys.refreshFamily('1')],
] as const)('keys of %s are in their partition of the activity table', (kind, { pk }) => {
  expect([pk.startsWith(partitions[kind].prefix), tableOf(pk)]).toEqual([true, 'activity']);
});
