import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { readUsage, usualUsage } from '../../../tools/cost/assumptions.ts';
import { readDeployment } from '../../../tools/cost/deployment.ts';
import { estimate } from '../../../tools/cost/estimate.ts';
import { costOf, renderCost, renderPage } from '../../../tools/cost/render.ts';
import { synthesize } from '../../lib/synthesize.ts';

/** The bundles that this checkout deploys. */
const deploymentOf = (settings: Record<string, unknown> = {}) => readDeployment(synthesize({ stages: {}, ...settings }).template.Resources);

const standard = deploymentOf();

test('docs/cost.md is up to date (npm run cost -- --write)', () => {
  expect(readFileSync('docs/cost.md', 'utf8')).toBe(renderPage(standard));
});

describe('a deployment', () => {
  test('is read with everything that has a fixed cost', () => {
    expect(standard).toMatchObject({
      // of PATs, of calls, and two of receipts
      keys: 4,
      dashboards: 1,
      // of snapshots, and of the log of receipts
      buckets: 2,
      firewalls: 0,
      firewallRules: 0,
      machineClients: 0,
      collectionUnits: 0,
      logRetentionDays: 30,
      isTraced: true,
      schedules: [
        { functionId: expect.stringMatching(/^countusage/), everyMinutes: 1 },
        { functionId: expect.stringMatching(/^sequencereceipts/), everyMinutes: 1 },
        { functionId: expect.stringMatching(/^snapshotsearchindex/), everyMinutes: 5 },
      ],
    });
    expect(standard.alarms).toBeGreaterThan(10);
    expect(standard.functions.find(({ id }) => id.startsWith('executeintent'))).toMatchObject({ memoryGb: 1, storageGb: 0.5 });
  });

  test('without traffic costs little', () => {
    const [idle] = costOf(standard);
    expect(idle?.total).toBeLessThan(13);
    expect(idle?.parts['API Gateway']).toBe(0);
  });

  test('costs more with traffic', () => {
    const [less, more] = [estimate(standard, 1_000_000), estimate(standard, 2_000_000)];
    const withoutTraffic = ['Search index and its snapshots', 'Cognito', 'CloudWatch alarms', 'CloudWatch dashboard', 'CloudWatch metrics'];
    for (const part of Object.keys(less)) {
      expect([part, (more[part] ?? 0) > (less[part] ?? 0)]).toEqual([part, !withoutTraffic.includes(part)]);
    }
  });
});

test('a search collection costs two compute units with standby, one without, and has a run each minute', () => {
  const [production, other] = ['production', 'test'].map((stage) =>
    deploymentOf({ search: 'opensearch', ...(stage === 'test' && { stage }) }),
  );
  expect([production?.collectionUnits, other?.collectionUnits]).toEqual([2, 1]);
  expect(production).toMatchObject({
    buckets: 1,
    schedules: ['countusage', 'sequencereceipts', 'feedsearchcollection'].map((name) => ({
      functionId: expect.stringMatching(new RegExp(`^${name}`)),
      everyMinutes: 1,
    })),
  });
});

describe('the estimate', () => {
  test.each([
    // a month of 2,628,000 seconds, hardly ever two requests in one; 0.22 of schedules
    [100_000, 0.81],
    // 11,166,667 requests: one in 98.6 % of the seconds, and 5 % of the others
    [10_000_000, 15.36],
  ])('of traces at %i executions follows the sampling rule', (executions, expected) => {
    expect(estimate(standard, executions)['X-Ray']).toBeCloseTo(expected, 2);
  });

  test('of writes includes recorded ids', () => {
    const more = (change: object) => {
      const [before, after] = [standard, { ...standard, ...change }].map((one) => estimate(one, 1_000_000)['DynamoDB, requests'] ?? 0);
      return Number(((after ?? 0) - (before ?? 0)).toFixed(2));
    };
    // a write for each of a million executions and for their 16,667 PATs, and those for signed policies
    expect([more({ isProofRequired: true }), more({ isFreshRequired: true })]).toEqual([0.64, 0.01]);
  });

  test('of counting is a few writes per execution, fewer the more there are', () => {
    const costAt = (executions: number) => estimate(standard, executions)['Usage: counting executions'] ?? 0;
    const idle = costAt(0);
    expect(idle).toBeLessThan(0.15);
    const writesAt = (executions: number) => (costAt(executions) - idle) / executions / (0.625 / 1_000_000);
    for (const [executions, most] of [
      [100_000, 10],
      [10_000_000, 5],
      [1_000_000_000, 3],
    ] as const) {
      expect(writesAt(executions)).toBeLessThan(most);
    }
  });

  test('of the search index grows with the registry: each record is read when it is built', () => {
    const part = 'Search index and its snapshots';
    const [few, many] = [1_000, 100_000].map((intents) => estimate(standard, 0, { intents })[part] ?? 0) as [number, number];
    // 130 times 99,000 records and their 12,085 units of pointers
    expect(many - few).toBeGreaterThan(1.8);
    expect(many - few).toBeLessThan(1.9);
  });
});

describe('npm run cost', () => {
  const run = (...options: string[]) =>
    spawnSync(process.execPath, ['bin/run.js', 'tools/cost.ts', ...options], {
      encoding: 'utf8',
      env: { ...process.env, CDK_VALIDATION: 'false' },
    });

  test('gives programs the settings, the assumptions and the amounts', () => {
    const { stdout, stderr } = run('--json', '-c', 'stage=test', '-c', 'waf=true', '--assume', 'admins=7');
    expect(stderr).toBe('');
    const { settings, assumed, months } = JSON.parse(stdout);
    expect(settings).toBe('stage test with waf=true, retainData=false, requireAdminMfa=false');
    expect(assumed).toEqual({ ...usualUsage, admins: 7 });
    expect(months[0].parts).toMatchObject({ WAF: 9, Cognito: expect.closeTo(7 * 0.015) });
  });

  test.each([
    [['-c', 'taracing=false'], 'taracing is not a setting. docs/reference.md lists all settings.\n'],
    [['--write', '-c', 'waf=true'], 'docs/cost.md is for the default settings. Use --write without -c, --assume and --json.\n'],
  ])('refuses %j', (options, complaint) => {
    const { status, stdout, stderr } = run(...options);
    expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: '', stderr: complaint });
  });

  test('names the settings, and aligns the amounts', () => {
    const lines = renderCost(standard, 'stage production with waf=true').split('\n');
    expect(lines[0]).toBe('US dollars per month in us-east-1, stage production with waf=true:');
    const rows = lines.slice(2, lines.lastIndexOf(''));
    expect(new Set(rows.map((row) => row.length)).size).toBe(1);
    expect(rows.at(-1)).toMatch(/^total +\d+\.\d\d +\d+\.\d\d +\d+\.\d\d$/);
  });

  test('accepts other assumptions', () => {
    expect(readUsage({ intents: '5000', keyedShare: '0.25' })).toEqual({ intents: 5_000, keyedShare: 0.25 });
    expect(() => readUsage({ intent: '5' })).toThrow(/^--assume intent: is not an assumption. Assumptions: intents, services, /);
    expect(() => readUsage({ intents: '-5' })).toThrow('--assume intents: must be a number of 0 or more, for example intents=10.');
  });
});
