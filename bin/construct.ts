/** Entry point of the npm package for CDK apps, built by `npm run package`. */
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Annotations } from 'aws-cdk-lib';
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import type { IHostedZone } from 'aws-cdk-lib/aws-route53';
import type { Construct } from 'constructs';
import { buildPages } from '../console/pages.ts';
import type { Build } from '../lib/build.ts';
import { Gate, type GivenParts } from '../lib/gate.ts';
import { namesOf } from '../lib/names.ts';
import { readPolicy, warnOfPolicy } from '../lib/policy.ts';
import { parseSettings, type Settings, SettingsError, warnOfRates } from '../lib/settings.ts';
import type { GateSettings } from './gate-settings.ts';

export { EndpointFunction } from '../lib/endpoint-function.ts';
export { type GateSettings, type GivenParts, SettingsError };

/** The settings of the gate, and constructs of the app. */
export interface IntentGateProps extends GateSettings, GivenParts {
  /** the usage policy, or the path to its file */
  policy: string | object;
  /** hosted zone of `domainName` */
  hostedZone?: IHostedZone;
  /** network of the functions that call intents */
  vpc?: IVpc;
  /** subnets of `vpc`; default: its private subnets */
  vpcSubnets?: SubnetSelection;
  /** security groups of the functions in `vpc`; created if left out */
  securityGroups?: ISecurityGroup[];
}

const built = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const packaged: Build = {
  bundle: (names, folder) => {
    for (const name of names) cpSync(built(`functions/${name}`), join(folder, name), { recursive: true });
  },
  buildPages: (protocol) => buildPages(protocol, JSON.parse(readFileSync(built('assets.json'), 'utf8'))),
  wordVectors: built('word-vectors.bin'),
};

/** A gate in any CDK app. Its resource names derive from its stack and construct path, so an app may contain several gates. */
export class IntentGate extends Gate {
  /** @throws SettingsError naming every mistake in the settings or the policy */
  constructor(scope: Construct, id: string, props: IntentGateProps) {
    const policyFile = typeof props.policy === 'string' ? props.policy : 'policy';
    const settings = withConstructs(parseSettings({ ...withoutConstructs(props), policyFile }, findConflicts(props)), props);
    const policy = readPolicy(settings, typeof props.policy === 'string' ? undefined : JSON.stringify(props.policy));
    super(scope, id, { settings, policy, build: packaged, names: namesOf(scope, id), given: props });
    for (const problem of warnOfRates(settings)) Annotations.of(this).addWarningV2('intent-gate:rates', problem);
    for (const problem of warnOfPolicy(settings, policy)) Annotations.of(this).addWarningV2('intent-gate:policy', problem);
  }
}

/** The settings as they would be in cdk.json. Ids of constructs may be unresolved tokens, so placeholders replace them. */
function withoutConstructs(props: IntentGateProps): Record<string, unknown> {
  const { policy, userPool, userPoolDomain, alarmTopic, encryptionKey, permissionsBoundary, ...others } = props;
  const { hostedZone, vpc, vpcSubnets, securityGroups, ...settings } = others;
  return {
    ...settings,
    ...(hostedZone && { hostedZoneId: 'Z0', hostedZoneName: hostedZone.zoneName }),
    ...(vpc && { vpc: { vpcId: 'vpc-00000000', subnetIds: ['subnet-00000000'] } }),
  };
}

const withConstructs = (settings: Settings, { hostedZone, vpc, vpcSubnets, securityGroups }: IntentGateProps): Settings => ({
  ...settings,
  ...(hostedZone && settings.domain && { domain: { name: settings.domain.name, zone: hostedZone } }),
  ...(vpc && {
    vpc: {
      vpcId: vpc.vpcId,
      subnetIds: vpc.selectSubnets(vpcSubnets).subnetIds,
      ...(securityGroups && { securityGroupIds: securityGroups.map(({ securityGroupId }) => securityGroupId) }),
    },
  }),
});

/** Mistakes such as a part both given and created by a setting, or given incompletely. */
function findConflicts({ userPool, userPoolDomain, encryptionKey, vpc, vpcSubnets, securityGroups, ...given }: IntentGateProps): string[] {
  const rules: [isBroken: unknown, mistake: string][] = [
    [userPool && given.adopt?.userPoolId, 'adopt.userPoolId: must be left out if userPool is given'],
    [userPool && given.requireAdminMfa !== undefined, 'requireAdminMfa: must be left out if userPool is given, which has its own setting'],
    [userPoolDomain && !userPool, 'userPoolDomain: needs userPool'],
    [encryptionKey && given.customerManagedKey, 'customerManagedKey: must be left out if encryptionKey is given'],
    [vpcSubnets && !vpc, 'vpcSubnets: needs vpc'],
    [securityGroups && !vpc, 'securityGroups: needs vpc'],
  ];
  return rules.flatMap(([isBroken, mistake]) => (isBroken ? [mistake] : []));
}
