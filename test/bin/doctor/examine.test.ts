import { describe, expect, test } from '@jest/globals';
import { conclude, describe as describeDiagnosis, diagnose, type Findings, isReady } from '../../../bin/doctor/examine.ts';
import { parseSettings } from '../../../lib/settings.ts';

const known = { state: 'known', stack: 'absent', isBootstrapped: true, unreservedConcurrency: 1000, hasApiLogRole: true } as const;

const ready: Findings = {
  nodeVersion: '24.21.0',
  cdkVersion: '2.1148.1',
  wantedCdkVersion: '2.1148.1',
  settings: { reservedConcurrency: { 'execute-intent': 300, mcp: 100 }, manageApiLogRole: false },
  region: 'eu-west-1',
  account: known,
};

const adopting = { reservedConcurrency: { 'execute-intent': 0, mcp: 0 }, manageApiLogRole: false, adopt: { userPoolId: 'eu-west-1_A' } };

const login = 'aws sso login    (or export AWS_PROFILE=<profile>)';

describe('the doctor', () => {
  test.each<[string, Partial<Findings>, boolean, string, string[]]>([
    ['nothing is missing', {}, true, 'Ready: npm run deploy -- test', []],
    [
      'all that is missing can wait',
      { account: { ...known, isBootstrapped: 'unknown', stack: 'present', unreservedConcurrency: 10 } },
      true,
      'Ready (what is marked "note" can wait): npm run deploy -- test',
      ['note  bootstrap', 'note  concurrency'],
    ],
    [
      'something cannot wait',
      { region: undefined, account: { ...known, isBootstrapped: 'unknown' } },
      false,
      'Not ready to deploy. Correct what is marked FIX.',
      ['FIX   region', 'note  bootstrap'],
    ],
  ])('concludes if %s', (_, findings, mayDeploy, conclusion, marks) => {
    const diagnoses = diagnose({ ...ready, ...findings });
    expect([isReady(diagnoses), conclude(diagnoses, 'test')]).toEqual([mayDeploy, conclusion]);
    const lines = diagnoses.map((diagnosis) => describeDiagnosis(diagnosis).split(':')[0]);
    expect(lines.filter((line) => !line?.startsWith('ok  '))).toEqual(marks);
  });

  test('finds nothing if nothing is missing', () => {
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

  test.each<[Partial<Findings>, [subject: string, detail: string, remedy: string][]]>([
    [{ nodeVersion: '20.11.1' }, [['Node', '20.11.1 is too old; 24 or newer is required', 'npm ci']]],
    [{ cdkVersion: undefined }, [['CDK command line', 'is not installed', 'npm ci']]],
    [{ cdkVersion: '3.0.0' }, [['CDK command line', '3.0.0 is installed, but package.json requires 2.1148.1', 'npm ci']]],
    [{ settings: 'wrong' }, [['settings and policy', 'wrong', 'correct them in cdk.json, or on the command line with -c name=value']]],
    [{ region: undefined }, [['region', 'not set', 'export AWS_REGION=<region>']]],
    [
      { account: { state: 'no credentials' } },
      [
        ['credentials', 'not found', login],
        ['bootstrap', 'unknown until the credentials are valid', 'fix the credentials first'],
      ],
    ],
    [
      { account: { state: 'refused' } },
      [
        ['credentials', 'AWS rejects them; they may have expired', login],
        ['bootstrap', 'unknown until the credentials are valid', 'fix the credentials first'],
      ],
    ],
    [
      { account: { state: 'unreachable' } },
      [
        ['credentials', 'AWS cannot be reached', 'check the network and HTTPS_PROXY, then run the doctor again'],
        ['bootstrap', 'unknown until the credentials are valid', 'fix the credentials first'],
      ],
    ],
    [{ account: { ...known, isBootstrapped: false } }, [['bootstrap', 'is missing', 'npx cdk bootstrap aws://<account>/eu-west-1']]],
    [
      { account: { ...known, isBootstrapped: 'unknown' } },
      [['bootstrap', 'unknown: these credentials are not allowed to list buckets', 'npx cdk bootstrap aws://<account>/eu-west-1']],
    ],
    [
      { account: { ...known, unreservedConcurrency: 10 } },
      [
        [
          'concurrency',
          'reservedConcurrency reserves 400 concurrent executions and Lambda requires 100 to stay unreserved, but the account has only 10 unreserved',
          'lower reservedConcurrency for this stage in cdk.json (0 reserves nothing), or request a higher quota from Service Quotas (Lambda, concurrent executions)',
        ],
      ],
    ],
    [
      { account: { ...known, hasApiLogRole: false } },
      [
        [
          'log role of API Gateway',
          'the account has no role with which API Gateway writes logs in this region',
          'set "manageApiLogRole": true for this stage in cdk.json',
        ],
      ],
    ],
    [
      { account: { ...known, unreservedConcurrency: 'unknown', hasApiLogRole: 'unknown' } },
      [
        ['concurrency', 'unknown: these credentials are not allowed to read Lambda quotas', 'aws lambda get-account-settings'],
        [
          'log role of API Gateway',
          'unknown: these credentials are not allowed to read the settings of API Gateway',
          'aws apigateway get-account',
        ],
      ],
    ],
    [
      {
        account: {
          ...known,
          adopted: [
            { detail: 'first', remedy: 'a' },
            { detail: 'second', remedy: 'b' },
          ],
        },
        settings: adopting,
      },
      [
        ['adopted resources', 'first', 'a'],
        ['adopted resources', 'second', 'b'],
      ],
    ],
    [
      { account: { ...known, adopted: 'unknown' }, settings: adopting },
      [
        [
          'adopted resources',
          'unknown: these credentials are not allowed to read them',
          'use a role that can read tables, keys and the user pool, then run the doctor again',
        ],
      ],
    ],
    [{ account: { ...known, adopted: [] }, settings: adopting }, []],
    [
      {
        account: { ...known, hasApiLogRole: false },
        settings: { reservedConcurrency: { 'execute-intent': 0, mcp: 0 }, manageApiLogRole: true },
      },
      [],
    ],
  ])('for %j it says what to do', (change, expected) => {
    const missing = diagnose({ ...ready, ...change }).filter(({ isWell }) => !isWell);
    expect(missing.map(({ subject, detail, remedy }) => [subject, detail, remedy])).toEqual(expected);
  });

  test.each<[Partial<Findings>, string[]]>([
    [{ account: { ...known, isBootstrapped: 'unknown', unreservedConcurrency: 'unknown', hasApiLogRole: 'unknown' } }, []],
    [{ account: { ...known, isBootstrapped: false } }, ['bootstrap']],
    [{ account: { ...known, hasApiLogRole: false } }, ['log role of API Gateway']],
    [{ account: { ...known, unreservedConcurrency: 450 } }, ['concurrency']],
    // its own reservation is missing from what is free
    [{ account: { ...known, stack: 'present', unreservedConcurrency: 450 } }, []],
    [{ account: { ...known, adopted: [{ detail: 'a', remedy: 'b', canWait: true }] }, settings: adopting }, []],
    [{ account: { ...known, adopted: [{ detail: 'a', remedy: 'b' }] }, settings: adopting }, ['adopted resources']],
  ])('for %j it stops a deployment because of %j', (change, expected) => {
    const stopping = diagnose({ ...ready, ...change }).filter(({ isWell, canWait }) => !isWell && !canWait);
    expect(stopping.map(({ subject }) => subject)).toEqual(expected);
  });

  test('lets the defaults be deployed in an account with ten concurrent executions', () => {
    const { reservedConcurrency } = parseSettings({});
    const settings = { reservedConcurrency, manageApiLogRole: false };
    const diagnoses = diagnose({ ...ready, settings, account: { ...known, unreservedConcurrency: 10 } });
    expect(diagnoses.filter(({ isWell }) => !isWell)).toEqual([]);
    expect(reservedConcurrency).toEqual({ 'execute-intent': 0, mcp: 0 });
  });
});
