import { describe, expect, test } from '@jest/globals';
import { conclude, describe as describeDiagnosis, diagnose, type Findings, isReady } from '../../../bin/doctor/examine.ts';
import { parseSettings } from '../../../lib/settings.ts';

const known = { state: 'known', stack: 'absent', isBootstrapped: true, unreservedConcurrency: 1000, hasApiLogRole: true } as const;

const ready: Findings = {
  nodeVersion: '24.21.0',
  cdkVersion: '2.1148.1',
  wantedCdkVersion: '2.1148.1',
  settings: { reservedConcurrency: { 'execute-intent': 300, mcp: 50, 'run-deferred-call': 50 }, manageApiLogRole: false },
  region: 'eu-west-1',
  account: known,
};

const adopting = {
  reservedConcurrency: { 'execute-intent': 0, mcp: 0, 'run-deferred-call': 0 },
  manageApiLogRole: false,
  adopt: { userPoolId: 'eu-west-1_A' },
};

const login = 'aws sso login    (or export AWS_PROFILE=<profile>)';

describe('the doctor', () => {
  test.each<{ what: string; findings: Partial<Findings>; mayDeploy: boolean; conclusion: string; marks: string[] }>([
    { what: 'nothing is missing', findings: {}, mayDeploy: true, conclusion: 'Ready: npm run deploy -- test', marks: [] },
    {
      what: 'all that is missing can wait',
      findings: { account: { ...known, isBootstrapped: 'unknown', stack: 'present', unreservedConcurrency: 10 } },
      mayDeploy: true,
      conclusion: 'Ready (lines marked "note" can wait): npm run deploy -- test',
      marks: ['note  bootstrap', 'note  concurrency'],
    },
    {
      what: 'something cannot wait',
      findings: { region: undefined, account: { ...known, isBootstrapped: 'unknown' } },
      mayDeploy: false,
      conclusion: 'Not ready to deploy. Resolve the lines marked FIX.',
      marks: ['FIX   region', 'note  bootstrap'],
    },
  ])('the doctor states its conclusion if $what', ({ findings, mayDeploy, conclusion, marks }) => {
    const diagnoses = diagnose({ ...ready, ...findings });
    expect([isReady(diagnoses), conclude(diagnoses, 'test')]).toEqual([mayDeploy, conclusion]);
    const lines = diagnoses.map((diagnosis) => describeDiagnosis(diagnosis).split(':')[0]);
    expect(lines.filter((line) => !line?.startsWith('ok  '))).toEqual(marks);
  });

  test('the doctor finds nothing if nothing is missing', () => {
    expect(diagnose(ready)).toEqual([
      { subject: 'Node', isWell: true, detail: '24.21.0' },
      { subject: 'CDK command line', isWell: true, detail: '2.1148.1' },
      { subject: 'settings and policy', isWell: true, detail: 'valid' },
      { subject: 'region', isWell: true, detail: 'eu-west-1' },
      { subject: 'credentials', isWell: true, detail: 'accepted' },
      { subject: 'bootstrap', isWell: true, detail: 'done' },
      { subject: 'concurrency', isWell: true, detail: '400 of 1000 concurrent executions are reserved' },
      { subject: 'log role of API Gateway', isWell: true, detail: 'the account has one' },
    ]);
  });

  const adoptedAs = (more: object) => ({ account: { ...known, ...more }, settings: adopting });
  const withoutAccount = 'FIX   bootstrap: unknown until the credentials are valid\n      -> fix the credentials first';

  test.each<[Partial<Findings>, unknown[]]>([
    [{ nodeVersion: '20.11.1' }, ['FIX   Node: 20.11.1 is too old; 24 or newer is required\n      -> npm ci']],
    [{ cdkVersion: undefined }, ['FIX   CDK command line: is not installed\n      -> npm ci']],
    [{ cdkVersion: '3.0.0' }, ['FIX   CDK command line: 3.0.0 is installed, but package.json requires 2.1148.1\n      -> npm ci']],
    [
      { settings: 'wrong' },
      ['FIX   settings and policy: wrong\n      -> correct them in cdk.json, or on the command line with -c name=value'],
    ],
    [{ region: undefined }, ['FIX   region: not set\n      -> export AWS_REGION=<region>']],
    [{ account: { state: 'no credentials' } }, [`FIX   credentials: not found\n      -> ${login}`, withoutAccount]],
    [{ account: { state: 'refused' } }, [`FIX   credentials: AWS rejects them; they may have expired\n      -> ${login}`, withoutAccount]],
    [
      { account: { state: 'unreachable' } },
      ['FIX   credentials: AWS cannot be reached\n      -> check the network and HTTPS_PROXY, then run the doctor again', withoutAccount],
    ],
    [
      { account: { ...known, isBootstrapped: false } },
      ['FIX   bootstrap: is missing\n      -> npx cdk bootstrap aws://<account>/eu-west-1'],
    ],
    [
      { account: { ...known, isBootstrapped: 'unknown', unreservedConcurrency: 'unknown', hasApiLogRole: 'unknown' } },
      [
        'note  bootstrap: unknown: these credentials are not allowed to list buckets\n      -> npx cdk bootstrap aws://<account>/eu-west-1',
        'note  concurrency: unknown: these credentials are not allowed to read Lambda quotas\n      -> aws lambda get-account-settings',
        'note  log role of API Gateway: unknown: these credentials are not allowed to read the settings of API Gateway\n      -> aws apigateway get-account',
      ],
    ],
    [
      { account: { ...known, unreservedConcurrency: 450 } },
      [
        'FIX   concurrency: reservedConcurrency reserves 400 concurrent executions and Lambda requires 100 to stay unreserved, but the account has only 450 unreserved\n      -> lower reservedConcurrency for this stage in cdk.json (0 reserves nothing), or request a higher quota from Service Quotas (Lambda, concurrent executions)',
      ],
    ],
    // the free concurrency excludes its own reservation
    [{ account: { ...known, stack: 'present', unreservedConcurrency: 450 } }, [expect.stringMatching(/^note {2}concurrency: /)]],
    [
      { account: { ...known, hasApiLogRole: false } },
      [
        'FIX   log role of API Gateway: the account has no role with which API Gateway writes logs in this region\n      -> set "manageApiLogRole": true for this stage in cdk.json',
      ],
    ],
    [
      {
        account: { ...known, hasApiLogRole: false },
        settings: { reservedConcurrency: adopting.reservedConcurrency, manageApiLogRole: true },
      },
      [],
    ],
    [
      adoptedAs({
        adopted: [
          { detail: 'first', remedy: 'a' },
          { detail: 'second', remedy: 'b', canWait: true },
        ],
      }),
      ['FIX   adopted resources: first\n      -> a', 'note  adopted resources: second\n      -> b'],
    ],
    [
      adoptedAs({ adopted: 'unknown' }),
      [
        'note  adopted resources: unknown: these credentials are not allowed to read them\n      -> use a role that can read tables, keys and the user pool, then run the doctor again',
      ],
    ],
    [adoptedAs({ adopted: [] }), []],
  ])('the doctor says what to do about %j', (change, expected) => {
    const missing = diagnose({ ...ready, ...change }).filter(({ isWell }) => !isWell);
    expect(missing.map(describeDiagnosis)).toEqual(expected);
  });

  test('the doctor lets the defaults be deployed in an account with ten concurrent executions', () => {
    const { reservedConcurrency } = parseSettings({});
    const settings = { reservedConcurrency, manageApiLogRole: false };
    const diagnoses = diagnose({ ...ready, settings, account: { ...known, unreservedConcurrency: 10 } });
    expect(diagnoses.filter(({ isWell }) => !isWell)).toEqual([]);
    expect(new Set(Object.values(reservedConcurrency))).toEqual(new Set([0]));
  });
});
