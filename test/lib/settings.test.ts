import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import type * as z from 'zod';
import type { GateSettings } from '../../bin/gate-settings.ts';
import type { settingsObject } from '../../lib/settings/options.ts';
import { describeChanges, describeDecisions, describeUnknown, parseSettings, readSettings, warnOfRates } from '../../lib/settings.ts';
import { renderProps } from '../../tools/render-props.ts';
import { mistakes, refusing } from '../support/settings.ts';

const vpc = { vpcId: 'vpc-0123456789abcdef0', subnetIds: ['subnet-0123456789abcdef0'] };

const keyArn = 'arn:aws:kms:eu-west-1:123456789012:key/mrk-1';

describe('parseSettings', () => {
  test.each([
    ['numbers', { patLifeSeconds: '900' }, { patLifeSeconds: 900 }],
    ['flags', { waf: 'true', tracing: 'false' }, { waf: true, tracing: false }],
    ['lists', { egressPorts: '443, 8443', signingKeys: 'b,a' }, { egressPorts: [443, 8443], signingKeys: ['b', 'a'] }],
    ['objects', { billing: '{"method":"invoice","id":"7"}' }, { billing: { method: 'invoice', id: '7' } }],
  ])('parseSettings reads %s from the texts of a command line', (_, given, expected) => {
    expect(parseSettings(given)).toMatchObject(expected);
  });

  test('parseSettings keeps data, and requires a second factor of admins, by default', () => {
    expect(parseSettings({})).toMatchObject({ stage: 'production', retainData: true, requireAdminMfa: true });
    expect(parseSettings({ stage: 'dev', retainData: 'false' })).toMatchObject({ retainData: false, requireAdminMfa: false });
  });

  test('parseSettings accepts as many intents as SQLite has room for', () => {
    expect(parseSettings({ expectedIntents: 250_000 }).expectedIntents).toBe(250_000);
    expect(mistakes({ expectedIntents: '250001' })).toEqual([expect.stringMatching(/^expectedIntents: must be at most 250000/)]);
  });

  test.each(['example.com', 'Example.com.', 'api.example.com'])(
    'parseSettings makes the public base URL of the domain name in the zone %s',
    (zoneName) => {
      const given = { domainName: 'api.example.com', hostedZoneId: 'Z1', hostedZoneName: zoneName };
      expect(parseSettings(given)).toMatchObject({
        publicBaseUrl: 'https://api.example.com',
        domain: { name: 'api.example.com', zone: { hostedZoneId: 'Z1', zoneName } },
      });
    },
  );

  test.each<[Record<string, unknown>, string]>([
    [{ stage: 'Dev' }, 'stage: must be 1 to 20 lower-case letters, digits and hyphens, a letter first'],
    [{ stage: 'aws-test' }, 'stage: must not contain aws, amazon or cognito, which Cognito refuses in the name of a domain'],
    [{ protocol: 'p-1' }, 'protocol: must be 2 to 20 lower-case letters'],
    [{ patLifeSeconds: 59 }, 'patLifeSeconds: must be a whole number from 60 to 86400'],
    [{ patLifeSeconds: '1e3' }, 'patLifeSeconds: must be a whole number from 60 to 86400'],
    [{ patLifeSeconds: 60.5 }, 'patLifeSeconds: must be a whole number from 60 to 86400'],
    [{ executionMemoryMb: 255 }, 'executionMemoryMb: must be a whole number from 256 to 10240'],
    [{ executionMemoryMb: 10_241 }, 'executionMemoryMb: must be a whole number from 256 to 10240'],
    [{ executionMemoryMb: '512 MB' }, 'executionMemoryMb: must be a whole number from 256 to 10240'],
    [{ waf: 'yes' }, 'waf: must be true or false'],
    [{ catalogue: 'private' }, 'catalogue: must be public or permitted'],
    [{ policyFile: '' }, 'policyFile: must have at least 1 characters'],
    [{ tags: { 'aws:x': 'y' } }, 'tags.aws:x: must have other member names'],
    [{ signingKeys: '' }, 'signingKeys.0: must be lower-case letters, digits and hyphens'],
    [{ signingKeys: 'a,a' }, 'signingKeys: must name at least one key, and none twice'],
    [{ egressPorts: '80' }, 'egressPorts: must include 443'],
    [{ machineNamespaces: 'pay.example' }, 'machineNamespaces: needs machineClient'],
    ...refusing(
      'publicBaseUrl',
      'must be an http or https address, its host in lower case, without default port, dot after the host, query, fragment or slash at the end',
      ['https://a.example/', 'https://A.example', 'https://a.example:443', 'https://a.example.', 'https://a.example./x'],
      ['https://a.example?q', 'ftp://a.example'],
    ),
    [{ corsOrigins: 'https://a.example/x' }, 'corsOrigins.0: must be * or https://<host>'],
    [{ alarmEmail: 'nobody' }, 'alarmEmail: must be an e-mail address'],
    [
      { logRetentionDays: 31 },
      `logRetentionDays: must be one of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653`,
    ],
    [{ billing: 'x' }, 'billing: must be an object'],
    [{ tags: 'x' }, 'tags: must be an object'],
    [{ throttling: { nothing: { requestsPerSecond: 1, burst: 1 } } }, 'throttling.nothing: is not a setting'],
    [{ allowLoopback: true }, 'allowLoopback: is for local development: set stage to local, or leave it out'],
    [
      { stage: 'local', gradualDeployment: true },
      'gradualDeployment: must be left out in the stage local, where each function has a single version',
    ],
    [{ localUpstreams: 'api' }, 'localUpstreams: is for local development: set stage to local, or leave it out'],
    ...refusing(
      'localUpstreams.0',
      'must be a host name of letters, digits, hyphens and dots, or an address of a private network',
      ['169.254.169.254', 'fd00:ec2::254', 'fe80::1', '93.184.216.34', 'API', 'http://api', 'a_b', '2130706433'],
      ['api:8000', '192.168.1', ''],
    ).map(([given, mistake]): [Record<string, unknown>, string] => [{ stage: 'local', ...given }, mistake]),
    ...[
      ...refusing('privateOrigins.0', 'must begin with https://', [
        'http://orders.internal',
        'orders.internal',
        'ftp://orders.internal',
        '',
      ]),
      ...refusing('privateOrigins.0', 'must name one host: wildcards are not supported', ['https://*.internal', '*']),
      ...refusing(
        'privateOrigins.0',
        'must be an origin such as https://orders.internal:8443, in lower case, without path, default port or dot after the host',
        ['https://orders.internal/', 'https://orders.internal/path', 'https://orders.internal?q', 'https://orders.internal:443'],
        ['https://Orders.internal', 'https://orders.internal.', 'https://user@orders.internal', 'https://10.0.775'],
        ['https://0x7f000001', 'https://[::ffff:10.0.3.7]'],
      ),
      ...refusing(
        'privateOrigins.0',
        'must not name this machine',
        ['https://localhost', 'https://api.localhost:8443', 'https://127.0.0.1', 'https://127.255.0.1:8443'],
        ['https://[::1]', 'https://[::ffff:7f00:1]'],
      ),
      ...refusing(
        'privateOrigins.0',
        'must name a host, or an address of a private network that is not link-local, unspecified or of a metadata service',
        ['https://169.254.169.254', 'https://169.254.1.1', 'https://0.0.0.0', 'https://100.100.100.200', 'https://93.184.216.34'],
        ['https://[fe80::1]', 'https://[fd00:ec2::254]', 'https://[::]', 'https://[::ffff:a9fe:a9fe]', 'https://[64:ff9b::a9fe:a9fe]'],
      ),
    ].map(([given, mistake]): [Record<string, unknown>, string] => [{ vpc, ...given }, mistake]),
    [
      { privateOrigins: 'https://orders.internal' },
      'privateOrigins: needs vpc, because only functions in your own network can reach private addresses',
    ],
    [{ vpc: { vpcId: vpc.vpcId } }, 'vpc.subnetIds: must be a list'],
    [{ vpc: { ...vpc, subnetIds: [] } }, 'vpc.subnetIds: must name at least one subnet'],
    [{ vpc: { ...vpc, subnetIds: 'subnet-1' } }, 'vpc.subnetIds.0: must be the id of a subnet'],
    [{ vpc: { ...vpc, vpcId: 'default' } }, 'vpc.vpcId: must be the id of a VPC'],
    [{ vpc: { ...vpc, securityGroupIds: 'default' } }, 'vpc.securityGroupIds.0: must be the id of a security group'],
    [{ vpc: { ...vpc, securityGroupIds: [] } }, 'vpc.securityGroupIds: must name at least one security group, or be left out'],
    [{ vpc: { subnetIds: vpc.subnetIds } }, 'vpc: needs securityGroupIds, or vpcId, in which a security group is created'],
    [{ vpc: { ...vpc, routes: [] } }, 'vpc.routes: is not a setting'],
    [{ domainName: 'a.example.com' }, 'domainName: must be given together with hostedZoneId and hostedZoneName'],
    [{ hostedZoneId: 'Z1' }, 'domainName: must be given together with hostedZoneId and hostedZoneName'],
    ...['example.org', 'le.com', 'b.a.example.com'].map((hostedZoneName): [Record<string, unknown>, string] => [
      { domainName: 'a.example.com', hostedZoneId: 'Z1', hostedZoneName },
      'domainName: must be in the zone hostedZoneName',
    ]),
    [
      { domainName: 'a.example.com', hostedZoneId: 'Z1', hostedZoneName: 'example.com', publicBaseUrl: 'https://b.example.com' },
      'publicBaseUrl: must be left out if domainName is given',
    ],
    [{ patLifetime: 1 }, 'patLifetime: is not a setting'],
    [{ adopt: {} }, 'adopt: must name the resources to adopt, or be left out'],
    [{ adopt: '{"userPoolId":"eu-west-1_Abc123","pool":"x"}' }, 'adopt.pool: is not a setting'],
    [{ adopt: { registryTable: 'Registry-1' } }, 'adopt: must name both registryTable and activityTable, or neither'],
    [{ adopt: { registryTable: 'Registry-1', activityTable: 'Registry-1' } }, 'adopt.activityTable: must differ from registryTable'],
    [{ adopt: { registryTable: 'a b', activityTable: 'Activity-1' } }, 'adopt.registryTable: must be the name of a DynamoDB table'],
    [{ adopt: { userPoolId: 'Pool' } }, 'adopt.userPoolId: must be the id of a Cognito user pool'],
    [
      { adopt: { userPoolId: 'eu-west-1_Abc123' }, retainData: false },
      'adopt: needs retainData, because adopted resources are not deleted with the stack',
    ],
    [
      { adopt: { userPoolId: 'eu-west-1_Abc123' }, requireAdminMfa: true },
      'requireAdminMfa: must be left out, because the user pool in adopt.userPoolId has its own setting',
    ],
    [
      { adopt: { signingKeys: { first: 'alias/IntentGate/first' } } },
      'adopt.signingKeys.first: must be the ARN of a KMS key, not of an alias',
    ],
    [{ adopt: { signingKeys: { second: keyArn } } }, 'adopt.signingKeys.second: must be one of signingKeys (first)'],
    [{ signingKeys: 'a,b', adopt: { signingKeys: { a: keyArn, b: keyArn } } }, 'adopt.signingKeys: must not name a key twice'],
  ])('parseSettings refuses %j', (given, expected) => {
    expect(mistakes(given)).toEqual([expected]);
  });

  test('parseSettings reports every mistake at once', () => {
    expect(mistakes({ stage: '', waf: 1, typo: true, allowLoopback: true, hostedZoneId: 'Z1', adopt: {} })).toEqual([
      'stage: must be 1 to 20 lower-case letters, digits and hyphens, a letter first',
      'waf: must be true or false',
      'typo: is not a setting',
      'allowLoopback: is for local development: set stage to local, or leave it out',
      'domainName: must be given together with hostedZoneId and hostedZoneName',
      'adopt: must name the resources to adopt, or be left out',
    ]);
  });
});

describe('readSettings', () => {
  const stages = { production: { patLifeSeconds: 900 }, test: { retainData: false, tracing: false } };

  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['production without a stage', { stages }, { stage: 'production', patLifeSeconds: 900, retainData: true }],
    ['the stage that is named', { stages, stage: 'test' }, { stage: 'test', patLifeSeconds: 3_600, retainData: false, tracing: false }],
    ['a single setting over it', { stages, stage: 'test', tracing: 'true' }, { stage: 'test', retainData: false, tracing: true }],
    ['the local stage, which needs no entry', { stages, stage: 'local' }, { stage: 'local', retainData: true }],
    ['any stage if none is listed', { stage: 'dev' }, { stage: 'dev', retainData: true }],
    [
      'past what other tools write',
      { 'acknowledged-issue-numbers': [1], 'availability-zones:account=1': [], pager: 'less' },
      parseSettings({}),
    ],
  ])('readSettings takes %s', (_, context, expected) => {
    expect(readSettings(context)).toMatchObject(expected);
  });

  test.each<[Record<string, unknown>, string]>([
    [{ stages, stage: 'tset' }, 'stage: must be one of the stages in cdk.json (production, test); give it an entry there'],
    [{ stages: { production: { typo: 1 } } }, 'typo: is not a setting'],
    [{ stages: { production: 7 } }, 'stages: must be an object that has an object of settings for each stage'],
    [{ retaindata: 'false' }, 'retaindata: is spelt retainData'],
  ])('readSettings refuses %j', (context, expected) => {
    expect(mistakes(context, readSettings)).toEqual([expected]);
  });
});

test.each([
  [['tag'], 'tag is not a setting. docs/reference.md lists all settings.'],
  [['tags', 'retaindata'], 'retaindata is not a setting. Did you mean retainData? docs/reference.md lists all settings.'],
  [['tags', 'stages', '@aws-cdk/core:checkSecretUsage', 'aws:cdk:bundling-stacks', 'acknowledged-issue-numbers'], undefined],
])('the unknown names in %j are described: %s', (names, expected) => expect(describeUnknown(names)).toBe(expected));

test.each([
  [
    {},
    'Stage production: the stack is protected against deletion, and keeps its table, keys and users. PATs are signed with the key "first".',
  ],
  [
    { stage: 'dev', retainData: false, signingKeys: 'b,a' },
    'Stage dev: deleting the stack DELETES its table, keys and users (retainData is false). PATs are signed with the key "b".',
  ],
  [
    { adopt: { registryTable: 'R-1', activityTable: 'A-1', userPoolId: 'eu-west-1_Abc123', signingKeys: { first: keyArn } } },
    'Stage production: the stack is protected against deletion, and keeps its table, keys and users. PATs are signed with the key "first". ' +
      `Adopted, not created: the tables R-1 and A-1, the user pool eu-west-1_Abc123, the key "first" (${keyArn}).`,
  ],
])('synthesis says what it decided for %j', (given, expected) => {
  expect(describeDecisions(parseSettings(given))).toBe(expected);
});

const lambda = "the account's concurrent executions of Lambda (1,000 by default, about 315 for 1,000 executions a second)";
const writes = 'the 40,000 write units a second of the Activity table (about 8,000 executions)';
const warning = (name: string, rate: number, ...ceilings: string[]) =>
  `${name} is ${rate}: above 3000, raise first what ends below it: ${ceilings.join(', ')}. See Limits in docs/operations.md`;

test.each<[given: Record<string, unknown>, warnings: string[]]>([
  [{}, []],
  [{ requestsPerSecond: 3_000 }, []],
  [{ requestsPerSecond: 3_001 }, [warning('requestsPerSecond', 3_001, lambda, writes)]],
  [{ requestsPerSecond: 10_000 }, [warning('requestsPerSecond', 10_000, lambda, writes)]],
  [
    { throttling: { 'execute-intent': { requestsPerSecond: 4_000, burst: 100 } } },
    [warning('throttling.execute-intent.requestsPerSecond', 4_000, lambda, writes)],
  ],
  // a rate of a method that executes nothing
  [{ throttling: { 'search-intents': { requestsPerSecond: 9_000, burst: 100 } } }, []],
])('synthesis warns of rates above the ceilings for %j', (given, warnings) => {
  expect(warnOfRates(parseSettings(given))).toEqual(warnings);
});

test.each([
  [{}, 'stage production with the default settings'],
  [{ stage: 'dev', waf: 'true', signingKeys: 'a,b' }, 'stage dev with signingKeys=["a","b"], waf=true'],
])('the differences of %j from the defaults are stated', (given, expected) => {
  expect(describeChanges(parseSettings(given))).toBe(expected);
});

describe('the properties of the construct', () => {
  const source = readFileSync('bin/gate-settings.ts', 'utf8');

  test('the properties of the construct are up to date: npm run props', () => {
    expect(source).toBe(renderProps());
  });

  test('the properties of the construct are accepted as settings', () => {
    const given: GateSettings = {
      patLifeSeconds: 900,
      throttling: { 'execute-intent': { requestsPerSecond: 1, burst: 2 } },
      reservedConcurrency: { 'execute-intent': 9 },
    };
    const accepted: z.input<typeof settingsObject> = given;
    expect(parseSettings(accepted)).toMatchObject(given);
  });

  test.each([
    ['patLifeSeconds?: number', 'Lifetime of a PAT, in seconds. From 60 to 86400. Default: `3600`.'],
    [
      'privateOrigins?: string[]',
      'Origins of private APIs, such as https://orders.internal:8443: the only ones that may resolve to private addresses; needs `vpc`.',
    ],
    [
      "agentIds?: 'bound' | 'shared'",
      '`bound`: an agent id belongs to the first key that presents it; `shared`: other keys may use it too. Default: `bound`.',
    ],
    ['alarmEmail?: string', 'E-mail address that alarms are sent to.'],
    ['domainName?: string', 'Domain name of the API, for which a certificate and DNS record are created; needs `hostedZone`.'],
  ])('the properties of the construct describe %s with its unit, range and default', (property, comment) => {
    expect(source).toContain(`  /** ${comment} */\n  ${property};\n`);
  });
});
