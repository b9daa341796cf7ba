import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { shakeHands } from '../../bin/handshake.ts';
import { close, listen } from '../../bin/local/http.ts';
import { registerDemo } from '../../bin/local/upstream/register.ts';
import { CliFailure } from '../../registry/failure.ts';
import { fullIntent } from '../../schemas/intent.ts';
import { intentPage } from '../../schemas/intent-pages.ts';
import type { CheckOutcome, Report } from '../conformance/report.ts';
import { type ConformanceOptions, checks, runConformance } from '../conformance/run.ts';
import { oneOfEach } from '../support/environments.ts';
import { bodyOf, startApi } from './api.ts';

const requested: string[] = [];
const api = await startApi({ demo: true, environments: oneOfEach, onAnswered: ({ method }) => requested.push(method) });
const requestedAtStart = [...requested];
const { base_url: baseUrl, admin_token: adminToken, upstream_url: upstreamUrl } = api.stack;
const registration = { baseUrl, adminToken, upstreamUrl };

const runCommand = (...args: string[]) =>
  promisify(execFile)(process.execPath, ['bin/cli.ts', ...args], { env: { ...process.env, NO_COLOR: '1' } });

describe('the smoke test', () => {
  test('the smoke test sees that the gate is healthy, and runs an intent', async () => {
    const options = ['--intent', 'world.example:get-country:v1', '--parameters', '{"code":"JP"}'];
    const { stdout } = await runCommand('smoke', baseUrl, ...options);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.filter((line) => line !== '').map((line) => line.replace(/^ *(\d+) +\d+ ms +/, '$1 ').split(/ {2,}/)[0])).toEqual([
      ...['200 health', '200 public keys', '200 search', '200 policy', '200 PAT', '404 PAT is accepted'],
      ...['401 forged PAT is refused', '401 missing PAT is refused', '404 unknown path is refused', '200 intent'],
      expect.stringMatching(/^All checks passed in \d+ ms\.$/),
    ]);
  });

  test('the smoke test prints its checks as JSON for a program', async () => {
    const { stdout } = await runCommand('--json', 'smoke', baseUrl);
    expect(JSON.parse(stdout)[0]).toEqual({ name: 'health', status: 200, duration_ms: expect.any(Number), seen: 'up' });
  });

  test('the smoke test refuses parameters that are not JSON', async () => {
    const failed = { code: 3, stderr: '--parameters must be JSON.\n' };
    await expect(runCommand('smoke', registration.baseUrl, '--parameters', '{')).rejects.toMatchObject(failed);
  });

  test.each([
    {
      what: 'nothing answers',
      address: 'http://127.0.0.1:1',
      code: 5,
      stderr: 'Nothing answers at http://127.0.0.1:1. Check the address, and whether the gate is running.\n',
    },
    {
      what: 'the address is none',
      address: 'here',
      code: 3,
      stderr: 'The address of the gate must be an http or https URL, such as https://gate.example.\n',
    },
  ])('the smoke test ends in one sentence if $what', async ({ address, code, stderr }) => {
    await expect(runCommand('smoke', address)).rejects.toMatchObject({ code, stderr });
  });

  test('the smoke test fails if the gate does not do what it should', async () => {
    const message = expect.stringContaining('should have been answered 200, but was answered 404 NOT_FOUND');
    await expect(shakeHands(`${baseUrl}/nowhere`, { parameters: {} }).next()).rejects.toMatchObject({ constructor: CliFailure, message });
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

  test('registering the demo in an empty registry reads nothing, because each function that a start needs delays it', () => {
    expect(requestedAtStart).toEqual(requestedAtStart.map(() => 'POST'));
    expect(requestedAtStart).not.toEqual([]);
  });

  test('registering the demo again changes nothing, and follows an upstream that has moved', async () => {
    const before = await readDemo();
    expect(before).toMatchObject({ shown: 11, all: 12, service_url: registration.upstreamUrl });
    await registerDemo({ ...registration, upstreamUrl: 'http://127.0.0.1:12345' });
    const moved = { ...before, service_url: 'http://127.0.0.1:12345', url: 'http://127.0.0.1:12345/time/convert-local' };
    expect(await readDemo()).toEqual(moved);
    await registerDemo(registration);
    expect(await readDemo()).toEqual(before);
  });

  test('registering the demo without an admin token fails in one sentence', async () => {
    await expect(registerDemo({ ...registration, upstreamUrl: 'http://127.0.0.1:12345', adminToken: 'nobody' })).rejects.toThrow(
      /^The demo could not be registered: the gate answered 401, /,
    );
  });
});

describe('conformance', () => {
  interface Answered {
    status: number;
    headers: IncomingHttpHeaders;
    body: Buffer;
  }
  const json = (status: number, body: string): Answered => ({
    status,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(body),
  });
  /** Ways in which an answer may be wrong. */
  const faults: ((answer: Answered, before: Answered) => Answered)[] = [
    ({ status }) => json(status < 400 ? 404 : 200, '{}'),
    ({ status, body }) => json(status, body.length > 0 ? '{}' : 'null'),
    (_, before) => before,
    // a PAT without claims
    ({ status, body }) => json(status, body.toString().replace(/\.\w+\./, '.e30.')),
  ];
  /** answers since the check began */
  let given: Answered[] = [];
  let spoil: (answer: Answered) => Answered = (answer) => answer;

  const proxy = createServer(async (request, response) => {
    const outgoing = httpRequest(baseUrl + request.url, { method: request.method, headers: request.headers }).end(await buffer(request));
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    const answer = { status: incoming.statusCode ?? 0, headers: incoming.headers, body: await buffer(incoming) };
    const { status, headers, body } = spoil(answer);
    given.push(answer);
    const { 'content-length': _, 'transfer-encoding': __, ...others } = headers;
    response.writeHead(status, others).end(body);
  });
  let url: string;
  beforeAll(async () => {
    url = `http://127.0.0.1:${await listen(proxy)}`;
  });
  afterAll(() => close(proxy));
  afterEach(() => {
    spoil = (answer) => answer;
  });
  const conform = (options: ConformanceOptions = {}) => runConformance(url, { adminToken, upstreamUrl, ...options });
  const outcomesOf = ({ checks: made }: Report, wanted: CheckOutcome['outcome']) =>
    made.filter(({ outcome }) => outcome === wanted).map(({ id }) => id);

  test('the gate conforms to the specification, and every check fails if some answer is wrong', async () => {
    const counts: number[] = [];
    const next = (): void => {
      counts.push(given.length);
      given = [];
    };
    const report = await conform({ onOutcome: next });
    expect(report.checks.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
    expect(report).toMatchObject({ url, protocol: 'proto', passed: checks.length, left_behind: [] });
    expect(report.checks.map(({ id }) => id)).toEqual(checks.map(({ id }) => id));

    const unseen = new Set(checks.map(({ id }) => id));
    /** Makes checks with a fault in all answers of each from one on: `last` is that of the next check. */
    const make = async (fault: (typeof faults)[number], last: () => number, options: ConformanceOptions): Promise<void> => {
      given = [];
      spoil = (answer) => (given.length >= last() ? fault(answer, given.at(-1) ?? answer) : answer);
      const spoilt = await conform(options).catch(() => undefined);
      for (const id of spoilt ? outcomesOf(spoilt, 'failed') : []) unseen.delete(id);
    };
    for (const fault of faults) {
      let at = 0;
      await make(fault, () => Math.max(1, counts[at] ?? 0) - 1, {
        onOutcome: () => {
          at++;
          given = [];
        },
      });
    }
    // what others have obtained for them, they ask for themselves if they are alone
    for (const id of unseen)
      for (let from = 9; from >= 0 && unseen.has(id); from--) for (const fault of faults) await make(fault, () => from, { only: [id] });
    expect([...unseen]).toEqual([]);
    // asks every function in turn, many times
  }, 300_000);

  test('without an admin token, the checks that need one are skipped', async () => {
    const report = await conform({ adminToken: undefined });
    expect([outcomesOf(report, 'failed'), outcomesOf(report, 'skipped')]).toEqual([
      [],
      checks.filter(({ isAdmins }) => isAdmins).map(({ id }) => id),
    ]);
    expect(report.checks.find(({ id }) => id === 'service-create')?.notes).toEqual(['needs an admin token']);
  });

  test('records that cannot be removed are named', async () => {
    let deletions = 0;
    spoil = (answer) => (answer.status === 204 && deletions++ === 0 ? json(500, '{}') : answer);
    expect((await conform({ only: ['service-create'] })).left_behind).toEqual([expect.stringMatching(/^\/api\/services\/\w{26}$/)]);
  });

  test('a refused admin token and a gate that does not answer are reported', async () => {
    await expect(conform({ adminToken: 'expired' })).rejects.toThrow(
      new CliFailure('credentials', 'The gate refused the admin token (401). Get a fresh token, or run without one.'),
    );
    await expect(runConformance('http://127.0.0.1:1')).rejects.toThrow(
      'Nothing answers at http://127.0.0.1:1. Check the address, and whether the gate is running.',
    );
  });
});
