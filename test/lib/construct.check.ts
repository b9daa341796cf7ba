import { execFile } from 'node:child_process';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeFolder } from '../support/folder.ts';
import { installPackage } from '../support/package.ts';
import type { Resource, Template } from './synthesize.ts';

const run = promisify(execFile);
const folder = makeFolder();

/** Runs a program like the app of another team: outside this project, with the package installed from its tarball. template.check.ts applies CloudFormation's rules. */
async function runApp(file: string, ...words: string[]): Promise<{ stdout: string; stderr: string }> {
  const env = { ...process.env, NODE_OPTIONS: '', CDK_VALIDATION: 'false', CDK_OUTDIR: join(folder, 'cdk.out'), CDK_CONTEXT_JSON: '{}' };
  return run(process.execPath, [file, ...words], { cwd: folder, env });
}

const readTemplate = async (stack: string): Promise<Template> =>
  JSON.parse(await readFile(join(folder, 'cdk.out', `${stack}.template.json`), 'utf8'));

const ofType = ({ Resources }: Template, type: string): Resource['Properties'][] =>
  Object.values(Resources).flatMap(({ Type, Properties }) => (Type === type ? [Properties] : []));

beforeAll(() => installPackage(folder));

/** Properties that name a resource in its account and region. */
const physicalName = /^(Alarm|Alias|Bucket|Dashboard|Function|LogGroup|ManagedPolicy|Role|Rule|Secret|Table|Topic|UserPool)Name$|^Domain$/;

/** The names that resources of a template have in the account, unless CloudFormation chooses them. */
const namesIn = ({ Resources }: Template): string[] =>
  Object.values(Resources).flatMap(({ Type, Properties }) =>
    Object.entries(Properties)
      .filter(
        ([key, value]) =>
          (physicalName.test(key) || (Type === 'AWS::ApiGateway::RestApi' && key === 'Name')) &&
          !/^{"(Ref|Fn::GetAtt)"/.test(JSON.stringify(value)),
      )
      .map(([key, value]) => `${Type} ${key} ${JSON.stringify(value)}`),
  );

const prefixesIn = (template: Template): string[] => [
  ...new Set(ofType(template, 'AWS::Lambda::Function').flatMap(({ Environment }) => Environment?.Variables.CREDENTIAL_PREFIX ?? [])),
];

const namespacesIn = (template: Template): string[] => [
  ...new Set(ofType(template, 'AWS::Logs::MetricFilter').map(({ MetricTransformations }) => MetricTransformations[0].MetricNamespace)),
];

describe('the package', () => {
  const installed = join(folder, 'node_modules', 'intent-gate-cdk');

  test('the package has a README and a changelog, and the licence of the project if there is one', async () => {
    const licences = (await readdir('.')).filter((name) => name.startsWith('LICENSE'));
    expect((await readdir(installed)).sort()).toEqual(
      [
        'README.md',
        'CHANGELOG.md',
        ...licences,
        'assets.json',
        'functions',
        'index.js',
        'package.json',
        'types',
        'word-vectors.bin',
      ].sort(),
    );
    expect(await readFile(join(installed, 'README.md'), 'utf8')).toBe(await readFile('lib/README.md', 'utf8'));
  });

  test('the package accepts ranges of the packages that it needs, which its README names', async () => {
    const { dependencies, peerDependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
    for (const range of Object.values({ ...dependencies, ...peerDependencies })) expect(range).toMatch(/^\^\d+\.\d+\.0$/);
    expect(await readFile('lib/README.md', 'utf8')).toContain(`\`aws-cdk-lib\` ${peerDependencies['aws-cdk-lib'].slice(1)} or newer`);
  });

  test('the package has a comment on every public member of its classes and on every property', async () => {
    const files = ['bin/construct', 'lib/gate', 'lib/endpoint-function', 'lib/admins', 'lib/receipts/resources', 'bin/gate-settings'];
    const uncommented = await Promise.all(
      files.map(async (file) => {
        const text = await readFile(join(installed, 'types', `${file}.d.ts`), 'utf8');
        const shown = [
          ...text.matchAll(
            /^export (?:declare class|interface) (?:IntentGate|IntentGateProps|Gate|GivenParts|GivenPool|GateSettings|EndpointFunction|ReceiptResources)\b.*?^}/gms,
          ),
        ];
        return shown.flatMap(([declared]) => {
          const lines = declared.split('\n');
          return lines.filter(
            (line, at) => /^ {4}(?!private|constructor)(?:readonly |get )?\w+\??[:(]/.test(line) && !lines[at - 1]?.endsWith('*/'),
          );
        });
      }),
    );
    expect(uncommented.flat()).toEqual([]);
  });
});

const programs = async (): Promise<string[]> =>
  [...(await readFile('lib/README.md', 'utf8')).matchAll(/^```ts\n(.*?)^```$/gms)].map(([, program = '']) => program);

describe('the app in lib/README.md', () => {
  let gates: Template[];

  beforeAll(async () => {
    const [example = '', watching = ''] = await programs();
    await writeFile(join(folder, 'app.ts'), example);
    await writeFile(join(folder, 'watch.ts'), watching);
    await runApp('app.ts');
    gates = await Promise.all(['Orders', 'Billing'].map(readTemplate));
  });

  test('the app in lib/README.md has correct types', async () => {
    const compilerOptions = { strict: true, module: 'nodenext', target: 'esnext', types: [], noEmit: true };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.ts', 'watch.ts'] }));
    const tsc = resolve('node_modules/typescript/bin/tsc');
    await expect(run(process.execPath, [tsc, '-p', folder])).resolves.toMatchObject({ stdout: '' });
  });

  test('the app in lib/README.md has two gates of the same stage without a name in common', () => {
    const [orders = [], billing = []] = gates.map((gate) => [...namesIn(gate), ...prefixesIn(gate), ...namespacesIn(gate)]);
    expect(orders).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^AWS::KMS::Alias AliasName "alias\/Orders-Gate-[0-9a-f]{12}\/first"$/),
        expect.stringMatching(/^AWS::ApiGateway::RestApi Name "Orders-Gate-[0-9a-f]{12}"$/),
        expect.stringMatching(/^AWS::CloudWatch::Dashboard DashboardName .*Orders-Gate-[0-9a-f]{12}-/),
        expect.stringMatching(/^intent-gate\/[0-9a-f]{12}\/services\/$/),
        expect.stringMatching(/^Orders-Gate-[0-9a-f]{12}$/),
      ]),
    );
    expect(billing).toHaveLength(orders.length);
    expect(orders.filter((name) => billing.includes(name))).toEqual([]);
  });

  test('the app in lib/README.md uses the user pool and the topic of the app, to which alarms may publish', async () => {
    for (const gate of gates) {
      expect(ofType(gate, 'AWS::Cognito::UserPool')).toEqual([]);
      expect(ofType(gate, 'AWS::SNS::Topic')).toEqual([]);
      for (const { UserPoolId } of ofType(gate, 'AWS::Cognito::UserPoolClient')) expect(JSON.stringify(UserPoolId)).toContain('Shared');
      for (const { AlarmActions } of ofType(gate, 'AWS::CloudWatch::Alarm')) expect(JSON.stringify(AlarmActions)).toContain('Shared');
    }
    const [policy] = ofType(await readTemplate('Shared'), 'AWS::SNS::TopicPolicy');
    expect(JSON.stringify(policy)).toContain('"Principal":{"Service":"cloudwatch.amazonaws.com"}');
  });

  test("the app in lib/README.md runs functions in the app's network", () => {
    for (const gate of gates) {
      const placed = ofType(gate, 'AWS::Lambda::Function').flatMap(({ VpcConfig }) => VpcConfig ?? []);
      expect(placed).toHaveLength(4);
      for (const { SubnetIds } of placed)
        expect([SubnetIds.length, JSON.stringify(SubnetIds)]).toEqual([2, expect.stringContaining('Private')]);
      const [group] = ofType(gate, 'AWS::EC2::SecurityGroup');
      expect(JSON.stringify(group?.VpcId)).toContain('Network');
    }
  });

  test('the app in lib/README.md deploys code, with the policy and the pages beside it', async () => {
    const [gate] = gates;
    const { Code } = ofType(gate as Template, 'AWS::Lambda::Function').find(({ Description }) => /Run an intent/.test(Description)) ?? {};
    const asset = join(folder, 'cdk.out', `asset.${Code.S3Key.replace('.zip', '')}`);
    expect((await readdir(asset)).sort()).toEqual(['index.cjs', 'node_modules', 'policy.json']);
    const { policy } = JSON.parse(await readFile(join(asset, 'policy.json'), 'utf8'));
    expect(policy).toEqual(JSON.parse(await readFile('policy.json', 'utf8')));
  });
});

/** Mistakes in settings are tested in settings.test.ts. */
const mistakes: [props: string, message: RegExp][] = [
  ['{ policy: { permission: 7 } }', /^policy: the policy cannot be put into effect:\n {2}\/permission\/0 must be an object$/],
  [`{ policy: 'nowhere.json' }`, /^policyFile: nowhere\.json cannot be read$/],
  [`{ policy, colour: 'red' }`, /\n {2}colour: is not a setting$/],
  [`{ policy, domainName: 'a.example' }`, /\n {2}domainName: must be given together with hostedZoneId and hostedZoneName/],
  [`{ policy, userPool, adopt: { userPoolId: 'eu-west-1_a' } }`, /\n {2}adopt\.userPoolId: must be left out if userPool is given$/],
  ['{ policy, userPool, requireAdminMfa: true }', /\n {2}requireAdminMfa: must be left out if userPool is given/],
  ['{ policy, userPoolDomain: {} }', /\n {2}userPoolDomain: needs userPool$/],
  ['{ policy, encryptionKey: {}, customerManagedKey: true }', /\n {2}customerManagedKey: must be left out if encryptionKey is given$/],
  ['{ policy, vpcSubnets: {} }', /\n {2}vpcSubnets: needs vpc$/],
  ['{ policy, securityGroups: [] }', /\n {2}securityGroups: needs vpc$/],
  [`{ policy, privateOrigins: ['https://a.internal'] }`, /\n {2}privateOrigins: needs vpc/],
];

/** Everything that an app may provide, and the mistakes. */
const program = `
import { App, Duration, Stack } from 'aws-cdk-lib';
import { ManagedPolicy } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { HostedZone } from 'aws-cdk-lib/aws-route53';
import { AccountRootPrincipal, Role } from 'aws-cdk-lib/aws-iam';
import { IntentGate, SettingsError } from 'intent-gate-cdk';
import { readFileSync } from 'node:fs';
import { watch } from './watch.ts';

const policy = JSON.parse(readFileSync('policy.json', 'utf8'));
const app = new App();
const stack = new Stack(app, 'MyAwsStack');
const given = {
  hostedZone: HostedZone.fromHostedZoneAttributes(stack, 'Zone', { hostedZoneId: 'Z123', zoneName: 'example.com' }),
  encryptionKey: new Key(stack, 'Key'),
  permissionsBoundary: ManagedPolicy.fromManagedPolicyName(stack, 'Boundary', 'boundary'),
};
const settings = { stage: 'test', retainData: false, machineClient: true, domainName: 'gate.example.com' };
const gate = new IntentGate(stack, 'Gate', { policy, receipts: 'keyed', ...settings, ...given });
const { url, signingKeys, dataKey, receipts } = gate;
watch(gate, new Role(stack, 'Auditor', { assumedBy: new AccountRootPrincipal() }));
const bare = new IntentGate(new Stack(app, 'Bare'), 'Gate', { policy, receipts: 'off' });
const members = { keys: signingKeys.length, isGiven: dataKey === given.encryptionKey, receipts: Object.keys(receipts), bare: [bare.dataKey, bare.receipts] };
const keyPolicies = Object.fromEntries(Object.entries(gate.keyPolicies).map(([name, { statementCount }]) => [name, statementCount]));
app.synth();

const userPool = { userPoolId: 'eu-west-1_b' };
const others = new Stack(new App(), 'Stack');
const messageOf = (make) => { try { make(); return 'accepted'; } catch (error) { return error instanceof SettingsError ? error.message : String(error.stack); } };
const makes = [${mistakes.map(([props], at) => `() => new IntentGate(others, 'Gate${at}', ${props})`).join(', ')}];
const warned = new IntentGate(others, 'Warned', { policy: 'all-but-one.json', requestsPerSecond: 5000 });
console.log(JSON.stringify({ url, members, keyPolicies, messages: makes.map(messageOf), warnings: warned.node.metadata }));
`;

test('a gate uses the constructs of the app, refuses mistakes, and warns of policy rules without effect and of high rates', async () => {
  await cp('samples/policies/all-but-one.json', join(folder, 'all-but-one.json'));
  await writeFile(join(folder, 'program.js'), program);
  const { url, members, keyPolicies, messages, warnings } = JSON.parse((await runApp('program.js')).stdout);
  expect(url).toBe('https://gate.example.com');
  expect(members).toEqual({ keys: 1, isGiven: true, receipts: ['receiptKey', 'logKey', 'bucket'], bare: [null, null] });
  expect(keyPolicies).toEqual({ signingKeys: 2, receiptKey: 4, logKey: 2 });
  const template = await readTemplate('MyAwsStack');
  const alarms = ofType(template, 'AWS::CloudWatch::Alarm');
  expect(alarms.find(({ Dimensions }) => JSON.stringify(Dimensions)?.includes('TOO_MANY_REQUESTS'))).toMatchObject({
    Namespace: expect.stringMatching(/^MyAwsStack-Gate-[0-9a-f]{12}$/),
    MetricName: 'Refusals',
    Statistic: 'Sum',
    Threshold: 1_000,
  });
  const auditor = JSON.stringify(ofType(template, 'AWS::IAM::Policy').find(({ Roles }) => JSON.stringify(Roles).includes('Auditor')));
  expect(auditor).toMatch(/dynamodb:Scan.*GateRegistry.*s3:GetObject.*GateReceiptLog/);
  for (const { Domain } of ofType(template, 'AWS::Cognito::UserPoolDomain')) expect(JSON.stringify(Domain)).not.toMatch(/aws|cognito/);
  const roles = ofType(template, 'AWS::IAM::Role').filter(
    ({ AssumeRolePolicyDocument }) => !JSON.stringify(AssumeRolePolicyDocument).includes(':root'),
  );
  expect(roles.length).toBeGreaterThan(40);
  for (const { PermissionsBoundary } of roles) expect(JSON.stringify(PermissionsBoundary)).toContain('policy/boundary');
  const key = { 'Fn::GetAtt': [expect.stringMatching(/^Key/), 'Arn'] };
  for (const { KmsKeyId } of ofType(template, 'AWS::Logs::LogGroup')) expect(KmsKeyId).toEqual(key);
  const own = ofType(template, 'AWS::KMS::Key').find(({ KeySpec }) => KeySpec === undefined);
  expect(JSON.stringify(own?.KeyPolicy)).toContain('kms:EncryptionContext:aws:logs:arn');
  for (const { HostedZoneId } of ofType(template, 'AWS::Route53::RecordSet')) expect(HostedZoneId).toBe('Z123');

  expect(messages).toEqual(mistakes.map(([, message]) => expect.stringMatching(message)));
  expect(warnings).toContainEqual(
    expect.objectContaining({ type: 'aws:cdk:warning', data: expect.stringContaining('all-but-one.json: /permission/1 allows nothing') }),
  );
  expect(warnings).toContainEqual(
    expect.objectContaining({ type: 'aws:cdk:warning', data: expect.stringContaining('requestsPerSecond is 5000: above 3000') }),
  );
});

/** An app with a database in its network, which lets gates in. */
const networked = `
import { App, Stack } from 'aws-cdk-lib';
import { Port, SecurityGroup, Vpc } from 'aws-cdk-lib/aws-ec2';
import { IntentGate } from 'intent-gate-cdk';

const app = new App();
const shared = new Stack(app, 'SharedNetwork');
const vpc = new Vpc(shared, 'Network');
const database = new SecurityGroup(shared, 'Database', { vpc });
const own = new SecurityGroup(shared, 'Own', { vpc, allowAllOutbound: false });
const gateIn = (stack, props) => new IntentGate(stack, 'Gate', { policy: 'policy.json', stage: 'test', retainData: false, ...props });
gateIn(new Stack(app, 'Created'), { vpc }).connections.allowTo(database, Port.tcp(5432));
gateIn(new Stack(app, 'Given'), { vpc, securityGroups: [own] }).connections.allowTo(database, Port.tcp(5433));
const together = new Stack(app, 'Together');
const beside = new SecurityGroup(together, 'Database', { vpc, allowAllOutbound: false });
const neighbour = gateIn(together, { vpc });
beside.connections.allowFrom(neighbour, Port.tcp(5434));
neighbour.functions.get('execute-intent').lambda.connections.allowTo(beside, Port.tcp(5435));
const bare = gateIn(new Stack(app, 'Bare'), {});
let message;
try { message = database.connections.allowFrom(bare, Port.tcp(1)) ?? 'accepted'; } catch (error) { message = error.message; }
app.synth();
console.log(JSON.stringify({ message }));
`;

test('an app lets gates into a database in its network, and learns if a gate is in none', async () => {
  await writeFile(join(folder, 'networked.js'), networked);
  const { message } = JSON.parse((await runApp('networked.js')).stdout);
  expect(message).toBe('connections: only a gate with vpc has security groups');
  /** The ports at which a template lets something into the database, and at which it lets something out. */
  const portsIn = async (stack: string) => {
    const template = await readTemplate(stack);
    const egress = ofType(template, 'AWS::EC2::SecurityGroup').flatMap(({ SecurityGroupEgress }) => SecurityGroupEgress);
    return {
      ingress: ofType(template, 'AWS::EC2::SecurityGroupIngress').map(({ GroupId, ToPort, SourceSecurityGroupId }) => [
        JSON.stringify(GroupId).includes('Database'),
        ToPort,
        JSON.stringify(SourceSecurityGroupId).replace(/^.*?(GateNetwork|Own).*$/, '$1'),
      ]),
      egress: [...egress, ...ofType(template, 'AWS::EC2::SecurityGroupEgress')].map(({ ToPort }) => ToPort),
    };
  };
  expect(await portsIn('Created')).toEqual({ ingress: [[true, 5432, 'GateNetwork']], egress: [443, 5432] });
  expect(await portsIn('Given')).toEqual({ ingress: [[true, 5433, 'Own']], egress: [] });
  const { ingress, egress } = await portsIn('Together');
  expect(ingress).toEqual([5434, 5435].map((port) => [true, port, 'GateNetwork']));
  expect(egress).toEqual(expect.arrayContaining([443, 5434, 5435]));
});
