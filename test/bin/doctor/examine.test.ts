import { describe, expect, test } from '@jest/globals';
import { diagnose, type Findings } from '../../../bin/doctor/examine.ts';

const known = { state: 'known', isBootstrapped: true, unreservedConcurrency: 1000, hasApiLogRole: true } as const;

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
  test('finds nothing if nothing is missing', () => {
    expect(diagnose(ready)).toEqual([
      { subject: 'Node', isWell: true, detail: '24.21.0' },
      { subject: 'CDK command line', isWell: true, detail: '2.1148.1' },
      { subject: 'settings and policy', isWell: true, detail: 'valid' },
      { subject: 'region', isWell: true, detail: 'eu-west-1' },
      { subject: 'credentials', isWell: true, detail: 'accepted' },
      { subject: 'bootstrap', isWell: true, detail: 'done' },
      { subject: 'concurrency', isWell: true, detail: '400 of 1000 runs at once are reserved' },
      { subject: 'log role of API Gateway', isWell: true, detail: 'the account has one' },
    ]);
  });

  test.each<[Partial<Findings>, [subject: string, detail: string, remedy: string][]]>([
    [{ nodeVersion: '20.11.1' }, [['Node', '20.11.1 is too old; 24 is needed', 'npm ci']]],
    [{ cdkVersion: undefined }, [['CDK command line', 'is not installed', 'npm ci']]],
    [{ cdkVersion: '3.0.0' }, [['CDK command line', '3.0.0 in place of 2.1148.1', 'npm ci']]],
    [{ settings: 'wrong' }, [['settings and policy', 'wrong', 'correct them in cdk.json, or on the command line with -c name=value']]],
    [{ region: undefined }, [['region', 'none is chosen', 'export AWS_REGION=<region>']]],
    [
      { account: { state: 'no credentials' } },
      [
        ['credentials', 'none are found', login],
        ['bootstrap', 'cannot be told without credentials', 'put the credentials right first'],
      ],
    ],
    [
      { account: { state: 'refused' } },
      [
        ['credentials', 'AWS refuses them; they may have expired', login],
        ['bootstrap', 'cannot be told without credentials', 'put the credentials right first'],
      ],
    ],
    [
      { account: { state: 'unreachable' } },
      [
        ['credentials', 'AWS cannot be reached', 'check the network and HTTPS_PROXY, then run the doctor again'],
        ['bootstrap', 'cannot be told without credentials', 'put the credentials right first'],
      ],
    ],
    [{ account: { ...known, isBootstrapped: false } }, [['bootstrap', 'is missing', 'npx cdk bootstrap aws://<account>/eu-west-1']]],
    [
      { account: { ...known, isBootstrapped: 'unknown' } },
      [['bootstrap', 'cannot be told: these credentials may not list buckets', 'npx cdk bootstrap aws://<account>/eu-west-1']],
    ],
    [
      { account: { ...known, unreservedConcurrency: 10 } },
      [
        [
          'concurrency',
          '400 runs at once are to be reserved, and 100 have to be left, of 10 that are free',
          'ask Service Quotas for more (Lambda, concurrent executions), or lower reservedConcurrency for the stage in cdk.json. A stack that is deployed already counts itself here',
        ],
      ],
    ],
    [
      { account: { ...known, hasApiLogRole: false } },
      [
        [
          'log role of API Gateway',
          'the account has none in this region, and stages that write logs are refused',
          'set "manageApiLogRole": true for this stage in cdk.json',
        ],
      ],
    ],
    [
      { account: { ...known, unreservedConcurrency: 'unknown', hasApiLogRole: 'unknown' } },
      [
        ['concurrency', 'cannot be told: these credentials may not ask', 'aws lambda get-account-settings'],
        ['log role of API Gateway', 'cannot be told: these credentials may not ask', 'aws apigateway get-account'],
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
        ['what is taken over', 'first', 'a'],
        ['what is taken over', 'second', 'b'],
      ],
    ],
    [
      { account: { ...known, adopted: 'unknown' }, settings: adopting },
      [
        [
          'what is taken over',
          'cannot be told: these credentials may not ask',
          'take a role that may read tables, keys and the user pool, then run the doctor again',
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
});
