import { describe, expect, test } from '@jest/globals';
import { openCommandLine } from './command-line.ts';
import { documentOf, requiring, responses, serve, startSignedIn } from './signed-in.ts';

const secret = 'canary-s3cr3t';
const environment = { TOKEN: `Bearer ${secret}`, NEW: `Bearer ${secret} new` };
const { stack, folder, run, succeed, succeedJson, writeTo, createService } = await startSignedIn(environment);
/** with tokens that are no admin's */
const strangers = {
  'a token of nobody': await openCommandLine(folder, { INTENT_GATE_TOKEN: 'x.y.z' }),
  'a user who is no admin': await openCommandLine(folder, { INTENT_GATE_TOKEN: stack.user_token }),
};

describe('credentials of services', () => {
  test('a credential is set from stdin, variables and files, shown without values, and removed', async () => {
    const fixed = ['--header', 'Notion-Version: 2022-06-28'];
    const { service_id } = await createService('Recognised', 'https://known.example/v1', 'Knows its callers', ...fixed);
    expect(await succeedJson('services', 'show', service_id)).toMatchObject({ headers: { 'Notion-Version': '2022-06-28' } });
    const credential = (verb: string, ...more: string[]) => ['services', 'credential', verb, service_id, ...more];
    expect(await run(credential('show'))).toMatchObject({ code: 0, stdout: 'Recognised has no credential.\n' });

    const first = await run(credential('set', '--header', 'Authorization', '--query', 'key'), `Bearer ${secret}\n${secret}\n`);
    const stdout = 'Credential of Recognised set: header Authorization, query key, sent only to https://known.example.\n';
    expect(first).toMatchObject({ code: 0, stderr: '', stdout });
    const set_at = expect.any(String);
    const shown = { headers: ['Authorization'], query: ['key'], origins: ['https://known.example'], set_at, set_by: expect.any(String) };
    expect(await succeedJson(...credential('show'))).toEqual(shown);

    const variables = ['--header-from-env', 'Authorization=TOKEN', '--next-header-from-env', 'Authorization=NEW'];
    const origins = ['--origin', 'https://a.example', '--origin', 'https://b.example:443'];
    const outcome = await run([...credential('set', ...variables, ...origins), '--json']);
    expect(JSON.parse(outcome.stdout)).toEqual({
      service_id,
      headers: ['Authorization'],
      query: [],
      origins: ['https://a.example', 'https://b.example'],
      next: { headers: ['Authorization'], query: [] },
    });

    const file = await writeTo('credential.yaml', `headers: { X-Key: ${secret} }\norigins: [https://c.example]\n`);
    await succeed(...credential('set', '--file', file));
    expect(await succeedJson(...credential('show'))).toMatchObject({ headers: ['X-Key'], origins: ['https://c.example'] });
    expect(first.stdout + outcome.stdout + outcome.stderr).not.toContain(secret);

    expect(await succeed(...credential('remove', '--yes'))).toBe('Removed the credential of Recognised.\n');
    expect(await succeedJson(...credential('show'))).toBeNull();
    await succeed('services', 'delete', service_id, '--yes');
  });

  test.each([
    { words: ['--header', `Authorization: Bearer ${secret}`], complaint: 'takes only a name, for example --header Authorization.' },
    { words: ['--header', `Authorization=${secret}`], complaint: 'takes only a name, for example --header Authorization.' },
    {
      words: ['--header-from-env', `Authorization:${secret}`],
      complaint: 'takes a name and a variable, for example Authorization=TOKEN.',
    },
    {
      words: ['--header-from-env', 'Authorization=NOWHERE'],
      complaint: 'The variable that --header-from-env names for Authorization is not set.',
    },
    { words: ['--header', 'Authorization'], complaint: 'stdin has no line with the value of Authorization.' },
    { words: ['--header', 'Host', '--query', 'a'], complaint: '/headers/Host must not be a header field that calls already carry' },
    { words: [], complaint: 'No values given. Name one, for example with --header Authorization' },
  ])('a credential given as $words is refused without repeating its value', async ({ words, complaint }) => {
    const input = words.includes('Host') ? `${secret}\n${secret}\n` : '';
    const { code, stdout, stderr } = await run(['services', 'credential', 'set', 'World facts', ...words], input);
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr).toContain(complaint);
    expect(stderr).not.toContain(secret);
  });

  test.each(['\u2028', '\u2029'])(
    'the values of a credential are read from stdin up to the end of the line, past %j',
    async (separator) => {
      const words = ['services', 'credential', 'set', 'World facts', '--header', 'X-One', '--query', 'two'];
      const { code, stderr } = await run(words, `${secret}${separator}${secret}\n${secret}\n`);
      expect(code).toBe(3);
      expect(stderr).toContain('/headers/X-One ');
      expect(stderr).not.toContain(secret);
    },
  );

  test.each([
    [
      'a token of nobody',
      `The gate at ${stack.base_url} does not accept INTENT_GATE_TOKEN: it must be an unexpired access token of an admin.\n`,
    ],
    ['a user who is no admin', "The gate does not accept the token as an admin's. Sign in with: npx intent-gate login\n"],
  ] as const)('a credential is shown to admins only, and not to %s', async (stranger, stderr) => {
    expect(await strangers[stranger].run(['services', 'credential', 'show', 'World facts'])).toEqual({ code: 4, stdout: '', stderr });
  });
});

describe('credentials on this machine', () => {
  const pasted = async (scheme: object, input: string, ...options: string[]) => {
    const seen: (string | undefined)[] = [];
    const { address, stop } = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.setHeader('Content-Type', 'application/json').end('{"is":"well"}');
    });
    const port = new URL(address).port;
    const document = documentOf(
      `At home ${port}`,
      address,
      { '/health': { get: { operationId: 'askAtHome', responses } } },
      requiring(scheme),
    );
    const words = ['import', '-', '--namespace', `home-${port}.example`, '--url', stack.base_url];
    const { stdout } = await run(words, JSON.stringify(document));
    const [, command = ''] = /\nSet the credential of the service with: npx intent-gate (.+)\n$/.exec(stdout) ?? [];
    const set = await run([...command.split(' '), ...options], input);
    const uid = `home-${port}.example:ask-at-home:v1`;
    const someone = await openCommandLine(folder);
    const tried = await someone.run(['try', '--intent', uid, '--accept-policy', '--json', '--url', stack.base_url]);
    await stop();
    return { command, set, seen, tried };
  };

  const bearer = { option: '--bearer', header: 'Bearer sk_token' };
  const basic = { option: '--basic', header: 'Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==' };
  test.each([
    { what: 'a bearer token', scheme: { type: 'http', scheme: 'bearer' }, input: 'sk_token\n', ...bearer },
    { what: 'a bearer token that is given with its scheme', scheme: { type: 'oauth2', flows: {} }, input: 'Bearer sk_token\n', ...bearer },
    { what: 'a name and a password', scheme: { type: 'http', scheme: 'basic' }, input: 'Aladdin:open sesame\n', ...basic },
  ])('the command that an import prints sets $what', async ({ scheme, option, input, header }) => {
    const { command, set, seen, tried } = await pasted(scheme, input);
    expect(command).toMatch(new RegExp(`^services credential set \\w{26} ${option} --url ${stack.base_url}$`));
    expect(set).toMatchObject({ code: 0, stderr: '' });
    expect(tried).toMatchObject({ code: 0 });
    expect(seen).toEqual([header]);
  });

  test('an invalid credential is refused, and one that most services would not accept gets a warning', async () => {
    const { set } = await pasted({ type: 'http', scheme: 'basic' }, 'no password\n');
    expect(set).toMatchObject({ code: 3, stdout: '', stderr: '--basic needs a name and a password, separated by a colon.\n' });
    const credential = ['services', 'credential', 'set', 'World facts'];
    expect(await run([...credential, '--next-header', 'Authorization'], 'x\n')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(
        'Give the current values as well, for example --header Authorization --next-header Authorization, because',
      ),
    });
    const { service_id } = await createService('Bare', 'https://bare.example', 'x');
    const bare = await run(['services', 'credential', 'set', service_id, '--header', 'Authorization'], 'sk_live_1\n');
    expect(bare).toMatchObject({
      code: 0,
      stderr: 'The value of Authorization has no scheme. Most services expect "Bearer <token>", which --bearer adds.\n',
    });
    await succeed('services', 'delete', service_id, '--yes');
  });
});
