import * as z from 'zod';
import { adoptionRules, featureAdoption } from '../features.ts';
import { isHttpsOrigin } from './kinds.ts';
import { adoptedParts, settingsObject } from './options.ts';

/** The stage of `npm start`, which needs no entry in cdk.json. */
export const localStage = 'local';

/** Building a larger index would take longer than a Lambda function may run. */
const maxSqliteIntents = 250_000;

const isHttpsRoot = (address: unknown): boolean => typeof address === 'string' && isHttpsOrigin(address);

const isInZone = (domainName: string, zone: string): boolean => `.${domainName}`.endsWith(`.${zone.toLowerCase().replace(/\.$/, '')}`);

const isFilled = (list: unknown): boolean => Array.isArray(list) && list.length > 0;

type Given = z.output<typeof settingsObject>;

/** Rules between settings. They also run if individual settings are invalid, to report every mistake, so a value may have any type. */
const rules: [setting: keyof Given, isBroken: (given: Given) => unknown, problem: string][] = [
  [
    'allowLoopback',
    ({ allowLoopback, stage }) => allowLoopback && stage !== localStage,
    'is for local development: set stage to local, or leave it out',
  ],
  [
    'localUpstreams',
    ({ localUpstreams, stage }) => isFilled(localUpstreams) && stage !== localStage,
    'is for local development: set stage to local, or leave it out',
  ],
  [
    'gradualDeployment',
    ({ gradualDeployment, stage }) => gradualDeployment === true && stage === localStage,
    'must be left out in the stage local, where each function has a single version',
  ],
  [
    'privateOrigins',
    ({ privateOrigins, vpc }) => isFilled(privateOrigins) && vpc === undefined,
    'needs vpc, because only functions in your own network can reach private addresses',
  ],
  [
    'vpc',
    ({ vpc }) => typeof vpc === 'object' && vpc?.vpcId === undefined && vpc?.securityGroupIds === undefined,
    'needs securityGroupIds, or vpcId, in which a security group is created',
  ],
  ['egressPorts', ({ egressPorts }) => Array.isArray(egressPorts) && !egressPorts.includes(443), 'must include 443'],
  [
    'domainName',
    ({ domainName, hostedZoneId, hostedZoneName }) => new Set([!domainName, !hostedZoneId, !hostedZoneName]).size > 1,
    'must be given together with hostedZoneId and hostedZoneName',
  ],
  [
    'domainName',
    ({ domainName, hostedZoneName }) => domainName && hostedZoneName && !isInZone(String(domainName), String(hostedZoneName)),
    'must be in the zone hostedZoneName',
  ],
  ['publicBaseUrl', ({ domainName, publicBaseUrl }) => domainName && publicBaseUrl, 'must be left out if domainName is given'],
  [
    'machineNamespaces',
    ({ machineNamespaces, machineClient }) => isFilled(machineNamespaces) && machineClient !== true,
    'needs machineClient',
  ],
  [
    'signIn',
    ({ signIn, stage, domainName, publicBaseUrl }) => signIn && stage !== localStage && !domainName && !isHttpsRoot(publicBaseUrl),
    'needs domainName, or a publicBaseUrl with https and without a path, because clients look up the sign-in metadata at the root of the host',
  ],
  [
    'adminSignIn',
    ({ adminSignIn, stage, domainName, publicBaseUrl }) => adminSignIn && stage !== localStage && !domainName && !publicBaseUrl,
    'needs domainName or publicBaseUrl, to which the user pool redirects admins',
  ],
  [
    'expectedIntents',
    ({ search, expectedIntents }) => search !== 'opensearch' && Number(expectedIntents) > maxSqliteIntents,
    `must be at most ${maxSqliteIntents}, unless search is opensearch`,
  ],
  [
    'signIn',
    ({ signIn, requireProofOfPossession }) => signIn && requireProofOfPossession,
    'cannot be combined with requireProofOfPossession, because people who sign in have no key',
  ],
];

/** The settings that the rules for adopted resources compare. */
const comparable = z.object({ adopt: adoptedParts, signingKeys: z.array(z.string()) });

function refineAdoption(given: Given, context: z.RefinementCtx): void {
  const { adopt, signingKeys, retainData, requireAdminMfa } = given;
  if (adopt === undefined) return;
  const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
  const { registryTable, activityTable, userPoolId, signingKeys: keys = {} } = adopt;
  const arns = Object.values(keys);
  const ofFeatures = Object.keys(featureAdoption).some((name) => Reflect.get(adopt, name));
  if (!registryTable && !activityTable && !userPoolId && arns.length === 0 && !ofFeatures)
    refuse(['adopt'], 'must name the resources to adopt, or be left out');
  for (const findProblems of adoptionRules)
    for (const [place, problem] of findProblems(adopt as Record<string, never>, given)) refuse(['adopt', place], problem);
  if (!registryTable !== !activityTable) refuse(['adopt'], 'must name both registryTable and activityTable, or neither');
  if (registryTable && registryTable === activityTable) refuse(['adopt', 'activityTable'], 'must differ from registryTable');
  for (const name of Object.keys(keys)) {
    if (!signingKeys.includes(name)) refuse(['adopt', 'signingKeys', name], `must be one of signingKeys (${signingKeys.join(', ')})`);
  }
  if (new Set(arns).size < arns.length) refuse(['adopt', 'signingKeys'], 'must not name a key twice');
  if (!retainData) refuse(['adopt'], 'needs retainData, because adopted resources are not deleted with the stack');
  if (userPoolId && requireAdminMfa !== undefined)
    refuse(['requireAdminMfa'], 'must be left out, because the user pool in adopt.userPoolId has its own setting');
}

export const settingsSchema = settingsObject
  .superRefine(
    (given, context) => {
      for (const [setting, isBroken, message] of rules) if (isBroken(given)) context.addIssue({ code: 'custom', path: [setting], message });
    },
    { when: () => true },
  )
  .superRefine(refineAdoption, { when: ({ value }) => comparable.safeParse(value).success })
  .transform(({ domainName, hostedZoneId = '', hostedZoneName = '', ...given }) => ({
    ...given,
    requireAdminMfa: given.requireAdminMfa ?? given.retainData,
    ...(domainName && {
      publicBaseUrl: `https://${domainName}`,
      domain: { name: domainName, zone: { hostedZoneId, zoneName: hostedZoneName } },
    }),
  }));
