import { afterEach, describe, expect, test } from '@jest/globals';
import type { CheckOutcome, Report } from '../../../bin/conform/report.ts';
import { type ConformanceOptions, checks, runConformance } from '../../../bin/conform/run.ts';
import { Unreachable } from '../../../client/errors.ts';
import { CliFailure } from '../../../registry/failure.ts';
import { faults } from './faults.ts';
import type { Fault } from './small-http.ts';
import { startSmallServer } from './small-server.ts';

let server: Awaited<ReturnType<typeof startSmallServer>>;
afterEach(() => server.stop());

async function check(fault: Fault = {}, options: ConformanceOptions = {}): Promise<Report> {
  server = await startSmallServer(fault);
  return runConformance(server.url, { adminToken: server.adminToken, ...options });
}

const ids = ({ checks: outcomes }: Report, wanted: CheckOutcome['outcome']): string[] =>
  outcomes.filter(({ outcome }) => outcome === wanted).map(({ id }) => id);

describe('on a server that keeps to the specification', () => {
  test('every check passes, and nothing is left behind', async () => {
    const seen: string[] = [];
    const report = await check({}, { onOutcome: ({ id }) => seen.push(id) });
    expect(report).toMatchObject({ url: server.url, protocol: 'proto', passed: checks.length, failed: 0, skipped: 0, left_behind: [] });
    expect(seen).toEqual(checks.map(({ id }) => id));
    expect(server.countLeft()).toBe(0);
  });

  test('without an admin token, the checks that need one are skipped, and nothing is written', async () => {
    const report = await check({}, { adminToken: undefined });
    const skipped = checks.filter(({ isAdmins }) => isAdmins).map(({ id }) => id);
    expect([ids(report, 'failed'), ids(report, 'skipped')]).toEqual([[], skipped]);
    expect(report.checks.find(({ id }) => id === 'service-create')?.notes).toEqual(['needs an admin token']);
    expect(server.countLeft()).toBe(0);
  });

  test('under another protocol name, the PAT is not found', async () => {
    const report = await check({}, { protocol: 'other', only: ['pat-issue', 'pat-claims'] });
    expect(report.checks.map(({ outcome, notes }) => [outcome, notes])).toEqual([
      ['failed', ['POST /api/pat/issue: /other-pat of the answer is required']],
      ['skipped', ['needs a PAT, but the response to the PAT request has none']],
    ]);
  });
});

describe('on a server that is broken', () => {
  test.each(faults.map((fault) => [fault.name, fault] as const))('it shows that %s', async (_, { found, ...fault }) => {
    const report = await check(fault, { only: found });
    expect(found).not.toEqual([]);
    expect(ids(report, 'failed')).toEqual(found);
    for (const { notes, clause } of report.checks) {
      expect(clause).toMatch(/^[0-9]/);
      expect(notes.length).toBeGreaterThan(0);
    }
  });

  test('for every check there is a fault that fails it', () => {
    const failed = new Set(faults.flatMap(({ found }) => found));
    expect(checks.map(({ id }) => id).filter((id) => !failed.has(id))).toEqual([]);
  });

  test('records that cannot be removed are named', async () => {
    const isDelete = ({ method, bearer }: { method: string; bearer: string | undefined }) => method === 'DELETE' && bearer === 'the-admin';
    const report = await check(
      { after: (request, answer) => (isDelete(request) ? { status: 500 } : answer) },
      { only: ['service-create'] },
    );
    expect(report.left_behind).toEqual([expect.stringMatching(/^\/api\/services\/s\d+$/)]);
  });
});

test('if the admin token is refused, it says so and checks nothing', async () => {
  await expect(check({}, { adminToken: 'expired' })).rejects.toThrow(
    new CliFailure('credentials', 'The gate refused the admin token (401). Get a fresh token, or run without one.'),
  );
});

test('if nothing answers, it says so', async () => {
  server = await startSmallServer();
  await server.stop();
  const run = runConformance(server.url);
  await expect(run).rejects.toThrow(Unreachable);
  await expect(run).rejects.toThrow(`Nothing answers at ${server.url}. Check the address, and whether the gate runs.`);
});
