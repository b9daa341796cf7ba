import { variables } from '../functions/core/runtime/environment.ts';
import type { Needs } from './endpoints/needs.ts';
import type { Endpoint } from './endpoints.ts';
import type { Resources } from './permissions.ts';
import { type Settings, totalReserved } from './settings.ts';
import { version } from './version.ts';

/**
 * Limits V8's young generation. An environment handles one request at a time and keeps few objects alive; Node's default limit would waste up to
 * 100 MB. If Lambda's runtime sets its own limit, that takes precedence.
 */
export const nodeOptions = '--max-semi-space-size=8';

/** The environment variables of a function: only those that its needs require. */
export function environmentOf(
  needs: Needs,
  credential: Endpoint['credential'],
  settings: Settings,
  made: Resources,
): Record<string, string> {
  const { snapshots } = made;
  return {
    [variables.version]: version,
    [variables.protocol]: settings.protocol,
    // Not in the local stack, whose functions are threads of one process with one set of heap options, and whose log is read by people.
    ...(settings.stage !== 'local' && { NODE_OPTIONS: nodeOptions, [variables.metricNamespace]: made.metricNamespace }),
    ...(settings.publicBaseUrl && { [variables.baseUrl]: settings.publicBaseUrl }),
    ...(settings.corsOrigins.length > 0 && { [variables.allowedOrigins]: settings.corsOrigins.join(',') }),
    ...(needs.table && {
      [variables.registryTable]: made.tables.registry.tableName,
      [variables.activityTable]: made.tables.activity.tableName,
    }),
    ...(needs.kms && { [variables.signingKeys]: made.signingKeys.map(({ keyArn }) => keyArn).join(',') }),
    ...(needs.policy && settings.policySource === 'file' && { [variables.policySource]: 'file' }),
    ...((needs.catalogue || needs.egress === 'intents') &&
      settings.catalogue !== 'public' && { [variables.catalogue]: settings.catalogue }),
    ...(needs.policy && settings.billing && { [variables.billing]: JSON.stringify(settings.billing) }),
    // Not a property of the guard's resource: a change would run the guard, for which an account without free concurrency has no room.
    ...(needs.accountLimits && { [variables.reservedConcurrency]: String(totalReserved(settings.reservedConcurrency)) }),
    ...(needs.snapshots && snapshots && { [variables.snapshotBucket]: snapshots.bucketName }),
    ...Object.assign({}, ...made.features.map((feature) => feature.environment?.(needs))),
    ...invokedEnvironment(needs, made),
    ...(needs.credentials && { [variables.credentialPrefix]: made.credentialPrefix }),
    ...(needs.kms?.includes('sign') && issueEnvironment(settings)),
    ...(needs.kms && needs.policy && proofEnvironment(settings)),
    ...((credential === 'admin' || needs.adminTokens) && adminEnvironment(made.admins)),
    ...(needs.table?.log && {
      [variables.historyDays]: String(settings.historyDays),
      [variables.maxPerNamespace]: String(settings.maxPerNamespace),
    }),
    ...((needs.egress || needs.addressRules) && egressEnvironment(settings)),
    ...((needs.egress === 'intents' || needs.addressRules) && privateEnvironment(settings)),
  };
}

const invokedVariables = {
  'issue-pat': variables.issueFunction,
  'search-intents': variables.searchFunction,
  'run-deferred-call': variables.deferredFunction,
  'snapshot-search-index': variables.snapshotFunction,
} as const;

const invokedEnvironment = ({ invokes = [] }: Needs, { functions }: Resources): Record<string, string> =>
  Object.fromEntries(
    invokes.flatMap((name) => {
      const made = functions?.get(name);
      return made ? [[invokedVariables[name], made.alias?.functionArn ?? made.lambda.functionName]] : [];
    }),
  );

const issueEnvironment = ({ patLifeSeconds, issueLimitPerHour, agentIds }: Settings) => ({
  [variables.agentIds]: agentIds,
  [variables.patLifeSeconds]: String(patLifeSeconds),
  [variables.issueLimitPerHour]: String(issueLimitPerHour),
});

/** Requirements on agents, for functions that verify signatures and PATs or document them. */
const proofEnvironment = ({ requireFreshSignature, requireProofOfPossession }: Settings) => ({
  [variables.requireFreshSignature]: String(requireFreshSignature),
  [variables.requireProofOfPossession]: String(requireProofOfPossession),
});

const adminEnvironment = ({ pool, clientIds, scope }: Resources['admins']) => ({
  [variables.userPool]: pool.userPoolId,
  [variables.adminClients]: clientIds.join(','),
  [variables.adminScope]: scope,
});

const privateEnvironment = ({ privateOrigins }: Settings) => ({
  ...(privateOrigins.length > 0 && { [variables.privateOrigins]: privateOrigins.join(',') }),
});

const egressEnvironment = ({ egressPorts, allowLoopback, localUpstreams }: Settings) => ({
  [variables.egressPorts]: egressPorts.join(','),
  ...(allowLoopback && { [variables.egressLoopback]: 'true' }),
  ...(localUpstreams.length > 0 && { [variables.localUpstreams]: localUpstreams.join(',') }),
});
