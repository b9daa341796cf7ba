import { describe, expect, test } from '@jest/globals';
import { diagnose, type Findings } from '../../../bin/doctor/examine.ts';

const ready: Findings = {
  nodeVersion: '24.21.0',
  cdkVersion: '2.1148.1',
  wantedCdkVersion: '2.1148.1',
  settingsProblem: undefined,
  region: 'eu-west-1',
  account: { state: 'known', isBootstrapped: true },
};

const login = 'aws sso login    (or export AWS_PROFILE=<profile>)';

describe('the doctor', () => {
  test('finds nothing where nothing is missing', () => {
    expect(diagnose(ready)).toEqual([
      { subject: 'Node', isWell: true, detail: '24.21.0' },
      { subject: 'CDK command line', isWell: true, detail: '2.1148.1' },
      { subject: 'settings and policy', isWell: true, detail: 'valid' },
      { subject: 'region', isWell: true, detail: 'eu-west-1' },
      { subject: 'credentials', isWell: true, detail: 'accepted' },
      { subject: 'bootstrap', isWell: true, detail: 'done' },
    ]);
  });

  test.each<[Partial<Findings>, [subject: string, detail: string, remedy: string][]]>([
    [{ nodeVersion: '20.11.1' }, [['Node', '20.11.1 is too old; 24 is needed', 'npm ci']]],
    [{ cdkVersion: undefined }, [['CDK command line', 'is not installed', 'npm ci']]],
    [{ cdkVersion: '3.0.0' }, [['CDK command line', '3.0.0 in place of 2.1148.1', 'npm ci']]],
    [
      { settingsProblem: 'wrong' },
      [['settings and policy', 'wrong', 'correct them in cdk.json, or on the command line with -c name=value']],
    ],
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
    [{ account: { state: 'known', isBootstrapped: false } }, [['bootstrap', 'is missing', 'npx cdk bootstrap aws://<account>/eu-west-1']]],
    [
      { account: { state: 'known', isBootstrapped: 'unknown' } },
      [['bootstrap', 'cannot be told: these credentials may not list buckets', 'npx cdk bootstrap aws://<account>/eu-west-1']],
    ],
  ])('of %j it says what to do', (change, expected) => {
    const missing = diagnose({ ...ready, ...change }).filter(({ isWell }) => !isWell);
    expect(missing.map(({ subject, detail, remedy }) => [subject, detail, remedy])).toEqual(expected);
  });
});
