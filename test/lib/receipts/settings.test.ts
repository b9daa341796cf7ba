import { expect, test } from '@jest/globals';
import { parseSettings } from '../../../lib/settings.ts';

test('receipts must be off, keyed or all', () => {
  expect(() => parseSettings({ receipts: 'some' })).toThrow('receipts: must be off, keyed or all');
});
