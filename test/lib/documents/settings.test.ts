import { expect, test } from '@jest/globals';
import { mistakes } from '../../support/settings.ts';

test('admins cannot sign in on the console of a gate without a public address', () => {
  expect(mistakes({ adminSignIn: true })).toEqual([
    'adminSignIn: needs domainName or publicBaseUrl, to which the user pool redirects admins',
  ]);
});
