import { afterAll, expect, test } from '@jest/globals';
import { startIssuer } from '../../../support/connections/issuer.ts';
import { openAuthorization, openBrowser, readForm } from '../../../support/sign-in/sign-in.ts';
import { openCommandLine } from '../command-line.ts';
import { startSignedIn } from '../signed-in.ts';

const issuer = await startIssuer();
afterAll(() => issuer.stop());
const { stack, folder, run, succeed, succeedJson, createService } = await startSignedIn({ SECRET: issuer.clientSecret, WRONG: 'wrong' });
const person = await openCommandLine(folder, { INTENT_GATE_TOKEN: stack.user_token, INTENT_GATE_URL: stack.base_url });
const client = (grant: string, secret = 'SECRET') => [
  ...['--grant', grant, '--issuer', issuer.issuer, '--client-id', 'gate', '--client-secret-from-env', secret, '--scope', 'read', 'write'],
];

test('an admin lets the gate obtain tokens for itself, and sees in the words of the issuer why a test fails', async () => {
  const { service_id } = await createService('Ledger', 'https://ledger.example', 'Keeps books');
  const credential = (verb: string, ...more: string[]) => ['services', 'credential', verb, service_id, ...more];
  expect(await succeed(...credential('oauth', ...client('client')))).toBe(
    `Calls to Ledger carry a token of the gate, only to https://ledger.example.\nTry it with: npx intent-gate services credential test ${service_id}\n`,
  );
  expect(await succeed(...credential('test'))).toBe('The gate has obtained a token, and discarded it.\n');
  expect(await succeedJson(...credential('status'))).toMatchObject({ service_id, grant: 'client' });
  expect(await succeedJson('services', 'credential', 'show', service_id)).toMatchObject({
    oauth: { client_id: 'gate', grant: 'client', scopes: ['read', 'write'] },
  });
  await succeed(...credential('oauth', ...client('client', 'WRONG')));
  const failed = await run(credential('test'));
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('It does not work. The issuer says: invalid_client') });
  expect(failed.stdout + failed.stderr).not.toContain(issuer.clientSecret);
});

test.each([
  { words: ['--client-secret-from-env', 'NOWHERE'], complaint: 'The variable of --client-secret-from-env is not set.' },
  { words: ['--public'], complaint: '/oauth must have issuer or token_endpoint' },
])('a client is not set with $words', async ({ words, complaint }) => {
  const { service_id } = await createService(`Refused ${words.length}`, 'https://refused.example', 'Refuses');
  const outcome = await run(['services', 'credential', 'oauth', service_id, '--grant', 'client', '--client-id', 'gate', ...words]);
  expect(outcome).toMatchObject({ code: 3, stderr: expect.stringContaining(complaint) });
});

test('a person connects in the browser while the command waits, lists the connection, and ends it', async () => {
  const { service_id } = await createService('Calendar', 'https://calendar.example', 'Keeps dates');
  const redirect = `${stack.base_url}/connect/${service_id}/callback`;
  expect(await succeed('services', 'credential', 'oauth', service_id, ...client('person'))).toContain(
    `Register this redirect URI at the issuer: ${redirect}`,
  );
  expect((await person.run(['connections', 'list'])).stderr).toBe('You are connected to no service.\n');

  const waiting = person.run(['connect', 'Calendar', '--no-open']);
  const browser = openBrowser();
  const page = await openAuthorization(browser, stack, `${stack.base_url}/connect/${service_id}`);
  const leading = await browser.request(`${stack.base_url}/connect/${service_id}`, readForm(page));
  const agreed = await fetch(String(leading.next), { redirect: 'manual' });
  await browser.request(String(agreed.headers.get('location')));
  expect(await waiting).toMatchObject({ code: 0, stdout: 'Agents that act for you now call Calendar as you.\n' });

  expect((await person.run(['connections', 'list'])).stdout).toMatch(`${service_id}  Calendar  since `);
  expect((await person.run(['connections', 'end', 'Calendar', '--yes'])).stdout).toBe('No call to Calendar is made as you any more.\n');
  expect(JSON.parse((await person.run(['connections', 'list', '--json'])).stdout)).toEqual([]);
  expect((await person.run(['connections', 'end', 'Calendar', '--yes'])).stderr).toContain('You are not connected to such a service.');
});
