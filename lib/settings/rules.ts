import * as z from 'zod';
import type { AnySettings, SettingRule } from '../declaration.ts';
import { alternatives, isReplaced } from '../endpoints.ts';
import { declarations, featureAdoption } from '../features.ts';
import { localStage } from './kinds.ts';
import { adoptedParts, settingsObject } from './options.ts';

/** Building a larger index would take longer than a Lambda function may run. */
const maxSqliteIntents = 250_000;

const indexing = 'snapshot-search-index';
const otherEngines = alternatives.filter(({ replaces }) => replaces.includes(indexing));

const isInZone = (domainName: string, zone: string): boolean => `.${domainName}`.endsWith(`.${zone.toLowerCase().replace(/\.$/, '')}`);

const isFilled = (list: unknown): boolean => Array.isArray(list) && list.length > 0;

type Given = z.output<typeof settingsObject>;

/** Rules between settings. They also run if individual settings are invalid, to report every mistake, so a value may have any type. */
const rules: readonly SettingRule<keyof Given, Given>[] = [
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
  [
    'catalogue',
    ({ catalogue, ...given }) => catalogue === 'permitted' && isReplaced(indexing, given),
    'must be public with another search engine, which does not know the policy',
  ],
  ['publicBaseUrl', ({ domainName, publicBaseUrl }) => domainName && publicBaseUrl, 'must be left out if domainName is given'],
  [
    'machineNamespaces',
    ({ machineNamespaces, machineClient }) => isFilled(machineNamespaces) && machineClient !== true,
    'needs machineClient',
  ],
  [
    'expectedIntents',
    (given) => Number(given.expectedIntents) > maxSqliteIntents && !isReplaced(indexing, given),
    [`must be at most ${maxSqliteIntents}`, ...otherEngines.map(({ setting, value }) => `, unless ${setting} is ${value}`)].join(''),
  ],
];

const featureRules: readonly SettingRule<string, AnySettings>[] = declarations.flatMap(({ rules = [] }) => rules);

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
  for (const { adopted } of declarations)
    for (const [place, problem] of adopted?.findProblems(adopt as Record<string, never>, given) ?? []) refuse(['adopt', place], problem);
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
      for (const [setting, isBroken, message] of [...rules, ...featureRules])
        if (isBroken(given)) context.addIssue({ code: 'custom', path: [setting], message });
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
