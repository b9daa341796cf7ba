import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from '@jest/globals';
import { checks, runConformance } from '../../bin/conform/run.ts';
import { play } from '../../bin/demo/play.ts';
import { registerDemo } from '../../bin/local/upstream/register.ts';
import { CliFailure } from '../../registry/failure.ts';
import { fullIntent, intentPage } from '../../schemas/intent.ts';
import { bodyOf, startApi } from './api.ts';

const api = await startApi({ demo: true });
const { base_url: baseUrl, admin_token: adminToken, upstream_url: upstreamUrl } = api.stack;
const registration = { baseUrl, adminToken, upstreamUrl };
afterAll(() => api.stop());

const runCommand = (...args: string[]) =>
  promisify(execFile)(process.execPath, ['bin/cli.ts', ...args], { env: { ...process.env, NO_COLOR: '1' } });
const run = (...args: string[]) => runCommand('demo', ...args);

describe('the demo', () => {
  test('plays through, and each step is answered as it should be', async () => {
    const statuses: number[] = [];
    for await (const { answer, outcome } of play(registration.baseUrl)) {
      const { request, status } = answer;
      statuses.push(status);
      expect([request.includes('\n'), outcome.length > 0]).toEqual([false, true]);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 401, 403, 429]);
  });

  test('prints one JSON object a step', async () => {
    const { stdout } = await run('--json', '--url', registration.baseUrl);
    const steps = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(steps.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(Object.keys(steps[0])).toEqual(['step', 'title', 'request', 'status', 'duration_ms', 'outcome', 'body']);
    expect(steps[4]).toMatchObject({
      status: 200,
      body: { conversions: [{ time_zone: 'Asia/Tokyo', local_time: '2027-03-30T16:30:00' }, {}] },
    });
  });

  test('has no colour if NO_COLOR is set or output is not a terminal', async () => {
    const { stdout } = await run('--url', registration.baseUrl);
    expect(stdout).not.toContain('\u001b');
    expect(stdout).toContain('5. Execute the intent\n');
    expect(stdout).toContain('- 16:30 on Tuesday in Asia/Tokyo (Japan Standard Time)');
  });

  test.each([
    [
      'nothing answers',
      ['--url', 'http://127.0.0.1:1'],
      5,
      'Nothing answers at http://127.0.0.1:1. Check the address, and whether the gate runs.\n',
    ],
    ['the address is none', ['--url', 'here'], 3, 'The address of the gate must be an http or https URL.\n'],
  ])('ends in one sentence if %s', async (_, args, code, stderr) => {
    await expect(run(...args)).rejects.toMatchObject({ code, stderr });
  });

  test('fails if the gate does not do what it should', async () => {
    const steps = play(`${registration.baseUrl}/nowhere`);
    await expect(steps.next()).rejects.toThrow(CliFailure);
    await expect(play(`${registration.baseUrl}/nowhere`).next()).rejects.toThrow(
      'should have been answered 200, but was answered 404 NOT_FOUND',
    );
  });
});

describe('the smoke test', () => {
  test('sees that the gate is healthy, and runs an intent', async () => {
    const { stdout } = await runCommand(
      'smoke',
      registration.baseUrl,
      '--intent',
      'world.example:get-country:v1',
      '--parameters',
      '{"code":"JP"}',
    );
    expect(
      stdout
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => line.replace(/^ *(\d+) +\d+ ms +/, '$1 ').split(/ {2,}/)[0]),
    ).toEqual([
      ...['200 health', '200 public keys', '200 search', '200 policy', '200 PAT', '404 PAT is accepted'],
      ...['401 forged PAT is refused', '401 missing PAT is refused', '404 unknown path is refused', '200 intent'],
      expect.stringMatching(/^All checks passed in \d+ ms\.$/),
    ]);
  });

  test.each([
    [
      'the protocol is called otherwise',
      ['--protocol', 'uim'],
      1,
      'The response has no member uim-pat. Check whether the gate uses another protocol name.\n',
    ],
    ['the parameters are none', ['--parameters', '{'], 3, '--parameters takes JSON.\n'],
  ])('says so if %s', async (_, args, code, stderr) => {
    await expect(runCommand('smoke', registration.baseUrl, ...args)).rejects.toMatchObject({ code, stderr });
  });
});

describe('registering the demo', () => {
  const readDemo = async () => {
    const read = async (path: string) => bodyOf(await api.call('GET', path));
    const { service_id, endpoint } = fullIntent.parse(await read('/api/intents/world.example:convert-time:v2?view=full'));
    return {
      shown: intentPage.parse(await read('/api/intents/search?namespace=world.example&page_size=100')).pagination.total_results,
      all: (await read(`/api/services/${service_id}/intents`)).pagination.total_results,
      service_id,
      service_url: (await read(`/api/services/${service_id}`)).service_url,
      url: endpoint.url,
    };
  };

  test('again changes nothing, and follows an upstream that has moved', async () => {
    const before = await readDemo();
    expect(before).toMatchObject({ shown: 16, all: 17, service_url: registration.upstreamUrl });
    await registerDemo({ ...registration, upstreamUrl: 'http://127.0.0.1:12345' });
    const moved = { ...before, service_url: 'http://127.0.0.1:12345', url: 'http://127.0.0.1:12345/time/convert-local' };
    expect(await readDemo()).toEqual(moved);
    await registerDemo(registration);
    expect(await readDemo()).toEqual(before);
  });

  test('continues after an interruption between service and intents', async () => {
    const before = await readDemo();
    const { intents } = bodyOf(await api.call('GET', `/api/services/${before.service_id}/intents?page_size=100`));
    for (const { intent_id } of intents) await api.asAdmin('DELETE', `/api/intents/${intent_id}`);
    await registerDemo(registration);
    expect(await readDemo()).toEqual(before);
  });

  test('without an admin token fails in one sentence', async () => {
    await expect(registerDemo({ ...registration, adminToken: 'nobody' })).rejects.toThrow(
      /^The demo could not be registered: the gate answered 401, /,
    );
  });
});

test('the gate conforms to the specification', async () => {
  const report = await runConformance(registration.baseUrl, { adminToken: registration.adminToken });
  expect(report.checks.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
  expect(report).toMatchObject({ passed: checks.length, left_behind: [] });
});
