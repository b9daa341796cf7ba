import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { startFaultyProxy } from '../../support/faulty-proxy.ts';
import { openCommandLine } from './command-line.ts';
import { documentOf, responses, serve, startSignedIn } from './signed-in.ts';

const { stack, folder, run, succeed, succeedJson, writeTo, home } = await startSignedIn();
/** an agent apart from that of `run`, which accepts no policy unless a test says so */
const someone = await openCommandLine(folder);

test('"try" keeps every digit', async () => {
  const asked: string[] = [];
  const { address, stop } = await serve((request, response) => {
    asked.push(request.url ?? '');
    response.setHeader('Content-Type', 'application/json').end('{"id":12345678901234567890,"price":1.10}');
  });
  try {
    const parameters = [{ name: 'amount', in: 'query', schema: { type: 'number' } }];
    const paths = { '/a': { get: { operationId: 'a', parameters, responses } } };
    const file = await writeTo('echo.json', documentOf('Echo', address, paths));
    const [uid] = (await succeedJson('import', file, '--namespace', 'echo.example')).create;
    const params = await writeTo('echo-params.yaml', 'amount: 2.50');
    const execute = async (...options: string[]) =>
      (await someone.run(['try', '--intent', uid, ...options, '--json', '--url', stack.base_url])).stdout;
    const answers = [await execute('-p', 'amount=1.10', '--accept-policy'), await execute('--params', params)];
    for (const answer of answers) expect(answer).toMatch(/"id": 12345678901234567890,\s+"price": 1\.10\s/);
    expect(asked).toEqual(['/a?amount=1.10', '/a?amount=2.50']);
  } finally {
    await stop();
  }
});

test('"try" shows the header fields of an answer, and the reason of a refusal', async () => {
  const { address, stop } = await serve(({ url }, response) => {
    if (url === '/made') response.writeHead(201, { Location: '/made/7', 'X-Total-Count': '4' }).end();
    else response.writeHead(403, { 'Content-Type': 'text/html' }).end('<p>Project 7 is <b>archived</b></p>');
  });
  try {
    const headers = { 'X-Total-Count': { schema: { type: 'integer' } } };
    const make = { operationId: 'make', responses: { 201: { description: 'Made', headers } } };
    const file = await writeTo(
      'heads.json',
      documentOf('Heads', address, { '/made': { post: make }, '/archived': { post: { responses } } }),
    );
    await succeed('import', file, '--namespace', 'heads.example');
    const execute = (name: string, ...options: string[]) =>
      someone.run(['try', '--intent', `heads.example:${name}:v1`, '--accept-policy', '--url', stack.base_url, ...options]);
    expect((await execute('make')).stdout).toMatch(/Status and header fields of the service:\n.*"status": 201,.*"location": "\/made\/7"/s);
    expect(JSON.parse((await execute('make', '--json')).stdout)).toMatchObject({
      answer: {},
      upstream: { status: 201, headers: { location: '/made/7', 'x-total-count': '4' } },
    });
    const { code, stderr } = await execute('post-archived');
    expect([code, stderr]).toEqual([1, expect.stringContaining('\nThe service said: Project 7 is archived\n')]);
    expect(stderr).not.toContain('--idempotency-key');
  } finally {
    await stop();
  }
});

test('"try" names the key of a call whose answer was lost, with which the call is not made twice', async () => {
  let calls = 0;
  const { address, stop } = await serve((_, response) => void response.end(`{"calls":${++calls}}`));
  const proxy = await startFaultyProxy(stack.base_url, {});
  try {
    const file = await writeTo('counted.json', documentOf('Counted', address, { '/a': { post: { operationId: 'count', responses } } }));
    await succeed('import', file, '--namespace', 'counted.example');
    const execute = (...options: string[]) =>
      someone.run(['try', '--intent', 'counted.example:count:v1', '--url', proxy.endpoint, '--public-url', stack.base_url, ...options]);
    expect(await execute('--accept-policy')).toMatchObject({ code: 0 });
    const { requests } = proxy.counts;
    expect(await execute()).toMatchObject({ code: 0 });
    // all but the last request of a command succeed, which is sent four times
    proxy.next = [...Array(proxy.counts.requests - requests - 1).fill('none'), ...Array(4).fill('dropAfter')];
    const { code, stderr } = await execute();
    expect(code).toBe(5);
    const [, key = ''] = /The call may have been made\. .*\n {2}to repeat the call, add --idempotency-key (\S+)\n$/.exec(stderr) ?? [];
    expect(JSON.parse((await execute('--idempotency-key', key, '--json')).stdout).answer).toEqual({ calls: 3 });
    expect(calls).toBe(3);
    expect(await execute('--idempotency-key', 'a b')).toMatchObject({
      code: 3,
      stderr: '--idempotency-key must have 1 to 255 visible ASCII characters.\n',
    });
  } finally {
    await proxy.stop();
    await stop();
  }
});

const words = ['try', '--intent', 'world.example:convert-time:v1', '-p', 'time=2027-03-28T09:30:00+02:00', '-p', 'to_time_zone=Asia/Tokyo'];

test('"try" does not sign a policy that was not accepted', async () => {
  const { code, stderr } = await run(words);
  expect(code).toBe(3);
  expect(stderr).toContain('  You may execute every intent, at most 60 times a minute.\n');
  expect(stderr).toContain('There is no terminal for a prompt. Use --accept-policy to accept the policy.\n');
});

test('"try" signs only for the address that it was given, whatever the gate claims', async () => {
  const { code, stderr } = await run([...words, '--accept-policy', '--public-url', 'https://gate.example']);
  expect(code).toBe(3);
  expect(stderr).toBe(
    `The policy is not that of https://gate.example but of ${stack.base_url}, so nothing was signed. If you are sure that this is the right gate, pass that address as its public address. The option is --public-url.\n`,
  );
});

test('"try" executes once the policy is accepted, and after a revocation signs again', async () => {
  const { stdout } = await run([...words, '--accept-policy', '--json']);
  expect(JSON.parse(stdout).answer).toMatchObject({ time: '2027-03-28T16:30:00+09:00' });
  const { agent_id: agentId } = JSON.parse(stdout);
  const kept = (await readdir(join(home, 'agent'))).map((name) => join(home, 'agent', name));
  expect(kept).toHaveLength(2);
  for (const file of kept) expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await succeedJson('agents', 'show', String(agentId))).toMatchObject({ agent_id: agentId });
  await succeed('agents', 'revoke', String(agentId));
  expect(JSON.parse((await run([...words, '--json'])).stdout).answer).toMatchObject({ time_zone: 'Asia/Tokyo' });
});

test('"pat" does not sign a policy that was not accepted', async () => {
  const stranger = await openCommandLine(folder);
  const { code, stdout, stderr } = await stranger.run(['pat', '--url', stack.base_url]);
  expect([code, stdout]).toEqual([3, '']);
  expect(stderr).toContain('There is no terminal for a prompt. Use --accept-policy to accept the policy.\n');
});

test('"pat" prints a new PAT with which /mcp executes, alone or in the configuration of a host', async () => {
  const execute = async (url: string, headers: object) => {
    const call = { name: 'execute_intent', arguments: { intent_uid: 'world.example:get-country:v1', parameters: { code: 'JP' } } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call });
    const response = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body });
    return ((await response.json()) as { result: { structuredContent: unknown } }).result.structuredContent;
  };
  const mcp = `${stack.base_url}/mcp`;
  const first = await run(['pat', '--accept-policy']);
  expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+\n$/) });
  expect(first.stderr).toMatch(/^Valid until .*T.*Z\. A host that starts "intent-gate mcp" gets PATs by itself\.\n$/m);
  expect(await execute(mcp, { Authorization: `Bearer ${first.stdout.trim()}` })).toMatchObject({ name: 'Japan' });
  for (const [host, read] of Object.entries({
    claude: ({
      mcpServers: {
        'intent-gate': { type, url, headers },
      },
    }) => [type, url, headers],
    cursor: ({
      mcpServers: {
        'intent-gate': { url, headers },
      },
    }) => ['http', url, headers],
    gemini: ({
      mcpServers: {
        'intent-gate': { httpUrl, headers },
      },
    }) => ['http', httpUrl, headers],
    vscode: ({
      servers: {
        'intent-gate': { type, url, headers },
      },
    }) => [type, url, headers],
    windsurf: ({
      mcpServers: {
        'intent-gate': { serverUrl, headers },
      },
    }) => ['http', serverUrl, headers],
    // biome-ignore lint/suspicious/noExplicitAny: each host has its own format
  } satisfies Record<string, (configuration: any) => unknown[]>)) {
    const { stdout } = await run(['pat', '--host', host]);
    const [type, url, headers] = read(JSON.parse(stdout));
    expect([host, type, url, Object.keys(headers)]).toEqual([host, 'http', mcp, ['Authorization']]);
    expect(headers.Authorization).not.toContain(first.stdout.trim());
    expect(await execute(url, headers)).toMatchObject({ name: 'Japan' });
  }
  const { agent_id, pat, expires_at, configuration } = await succeedJson('pat');
  expect([agent_id, pat.split('.').length, configuration]).toEqual([expect.stringMatching(/^cli-/), 3, undefined]);
  expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(3_500_000);
  expect(await run(['pat', '--host', 'emacs'])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('Allowed choices are claude, cursor, gemini, vscode, windsurf.'),
  });
});
