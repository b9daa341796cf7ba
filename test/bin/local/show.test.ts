import { expect, jest, test } from '@jest/globals';
import { showStart, showWarnings } from '../../../bin/local/show.ts';

test('a start names the address with sign-in only if there is one', () => {
  const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const stack = { base_url: 'http://127.0.0.1:8080', user_password: 'one', admin_password: 'two' };
  showStart(stack, true);
  showStart(stack, false);
  const said = write.mock.calls.map(([text]) => String(text).includes('http://127.0.0.1:8080/mcp/sign-in'));
  write.mockRestore();
  expect(said).toEqual([true, false]);
});

test('a start reports policy rules without effect', () => {
  const base_url = 'http://127.0.0.1:8080';
  const write = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  showWarnings({ policy_file: 'bin/local/policy.json', base_url });
  expect(write.mock.calls).toEqual([]);
  showWarnings({ policy_file: 'samples/policies/all-but-one.json', base_url });
  showWarnings({ policy_file: 'samples/policies/trial-period.json', base_url });
  const said = write.mock.calls.map(([line]) => line);
  write.mockRestore();
  expect(said).toEqual([
    'Warning: samples/policies/all-but-one.json: /permission/1 allows nothing, because /prohibition/0 prohibits all of it: You may execute the intent payments.example:transfer:v1, at most 5 times a day.\n',
    expect.stringMatching(/trial-period.json: \/permission\/0 allows nothing, because no call meets .* any more: /),
  ]);
});
