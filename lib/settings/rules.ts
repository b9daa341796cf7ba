import * as z from 'zod';
import { isHttpsOrigin } from './kinds.ts';
import { adoptedParts, settingsObject } from './options.ts';

/** The stage of `npm start`, which needs no entry in cdk.json. */
export const localStage = 'local';

/** Beyond this, building the index takes longer than a Lambda function may run. */
const maxSqliteIntents = 250_000;

/** Checks a rule across settings even if other rules fail, so that every mistake is reported. */
const always = (name: string) => ({ path: [name], when: () => true });

const isRootOverHttps = (domainName: unknown, publicBaseUrl: unknown): boolean =>
  typeof domainName === 'string' || (typeof publicBaseUrl === 'string' && isHttpsOrigin(publicBaseUrl));

const isInZone = (domainName: string, zone: string): boolean => `.${domainName}`.endsWith(`.${zone.toLowerCase().replace(/\.$/, '')}`);

/** The parts of adopted resources that the rules compare. */
const comparable = z.object({ adopt: adoptedParts, signingKeys: z.array(z.string()) });

function refineAdoption(
  { adopt, signingKeys, retainData, requireAdminMfa }: z.infer<typeof settingsObject>,
  context: z.RefinementCtx,
): void {
  if (adopt === undefined) return;
  const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path: ['adopt', ...path], message });
  const { registryTable, activityTable, userPoolId, signingKeys: keys = {} } = adopt;
  const arns = Object.values(keys);
  if (!registryTable && !activityTable && !userPoolId && arns.length === 0) refuse([], 'must name the resources to adopt, or be left out');
  if (!registryTable !== !activityTable) refuse([], 'needs registryTable and activityTable, or neither');
  if (registryTable && registryTable === activityTable) refuse(['activityTable'], 'must differ from registryTable');
  for (const name of Object.keys(keys)) {
    if (!signingKeys.includes(name)) refuse(['signingKeys', name], `must also be in the setting signingKeys (${signingKeys.join(', ')})`);
  }
  if (new Set(arns).size < arns.length) refuse(['signingKeys'], 'must not name a key twice');
  if (!retainData) refuse([], 'needs retainData, because adopted resources are not deleted with the stack');
  if (userPoolId && requireAdminMfa !== undefined) {
    context.addIssue({
      code: 'custom',
      path: ['requireAdminMfa'],
      message: 'must be left out: the user pool in adopt.userPoolId has its own setting',
    });
  }
}

export const settingsSchema = settingsObject
  .refine(({ stage, allowLoopback }) => !allowLoopback || stage === localStage, {
    ...always('allowLoopback'),
    error: 'is for local development: set stage to local, or leave it out',
  })
  .refine(({ stage, localUpstreams }) => !Array.isArray(localUpstreams) || localUpstreams.length === 0 || stage === localStage, {
    ...always('localUpstreams'),
    error: 'is for local development: set stage to local, or leave it out',
  })
  .refine(({ stage, gradualDeployment }) => gradualDeployment !== true || stage !== localStage, {
    ...always('gradualDeployment'),
    error: 'must be left out in the stage local, where each function has a single version',
  })
  .refine(({ privateOrigins, vpc }) => !Array.isArray(privateOrigins) || privateOrigins.length === 0 || vpc !== undefined, {
    ...always('privateOrigins'),
    error: 'needs vpc, because only functions in your own network reach private addresses',
  })
  .refine(({ vpc }) => typeof vpc !== 'object' || vpc?.vpcId !== undefined || vpc?.securityGroupIds !== undefined, {
    ...always('vpc'),
    error: 'needs securityGroupIds, or vpcId to create a security group in',
  })
  .refine(({ egressPorts }) => !Array.isArray(egressPorts) || egressPorts.includes(443), {
    ...always('egressPorts'),
    error: 'must include 443',
  })
  .refine(({ domainName, hostedZoneId, hostedZoneName }) => new Set([!domainName, !hostedZoneId, !hostedZoneName]).size === 1, {
    ...always('domainName'),
    error: 'must be given together with hostedZoneId and hostedZoneName',
  })
  .refine(({ domainName, hostedZoneName }) => !domainName || !hostedZoneName || isInZone(String(domainName), String(hostedZoneName)), {
    ...always('domainName'),
    error: 'must be a name in the zone hostedZoneName',
  })
  .refine(({ domainName, publicBaseUrl }) => !domainName || !publicBaseUrl, {
    ...always('publicBaseUrl'),
    error: 'must be left out if domainName is given',
  })
  .refine(
    ({ machineNamespaces, machineClient }) => !Array.isArray(machineNamespaces) || machineNamespaces.length === 0 || machineClient === true,
    {
      ...always('machineNamespaces'),
      error: 'needs machineClient',
    },
  )
  .refine(({ signIn, stage, domainName, publicBaseUrl }) => !signIn || stage === localStage || isRootOverHttps(domainName, publicBaseUrl), {
    ...always('signIn'),
    error:
      'needs domainName, or a publicBaseUrl that begins with https:// and has no path: clients look for its description at the root of a host',
  })
  .refine(
    ({ adminSignIn, stage, domainName, publicBaseUrl }) =>
      !adminSignIn || stage === localStage || domainName !== undefined || publicBaseUrl !== undefined,
    { ...always('adminSignIn'), error: 'needs domainName or publicBaseUrl, to which the user pool redirects admins' },
  )
  .refine(({ search, expectedIntents }) => search === 'opensearch' || !(Number(expectedIntents) > maxSqliteIntents), {
    ...always('expectedIntents'),
    error: `above ${maxSqliteIntents} needs search: opensearch, because such an index does not fit into a function`,
  })
  .refine(({ signIn, requireProofOfPossession }) => !signIn || !requireProofOfPossession, {
    ...always('signIn'),
    error: 'must be left out with requireProofOfPossession, because people who sign in have no key',
  })
  .superRefine(refineAdoption, { when: ({ value }) => comparable.safeParse(value).success })
  .transform(({ domainName, hostedZoneId = '', hostedZoneName = '', ...given }) => ({
    ...given,
    requireAdminMfa: given.requireAdminMfa ?? given.retainData,
    ...(domainName && {
      publicBaseUrl: `https://${domainName}`,
      domain: { name: domainName, zone: { hostedZoneId, zoneName: hostedZoneName } },
    }),
  }));
