import { variables } from '../functions/core/environment.ts';
import type { TableName } from '../functions/core/table/keys.ts';
import type { EndpointFunction } from './endpoint-function.ts';
import type { Needs } from './endpoints/needs.ts';
import type { Endpoint } from './endpoints.ts';
import type { Settings } from './settings.ts';
import { version } from './version.ts';

export interface Parts {
  tableNames: Record<TableName, string>;
  /** the first signs, all verify */
  signingKeyArns: readonly string[];
  callKeyArn: string;
  userPoolId: string;
  adminClientIds: readonly string[];
  /** with the setting `signIn` */
  signIn?: { domain: string; clientId: string } | undefined;
  /** with the setting `adminSignIn` */
  console?: { domain: string; clientId: string } | undefined;
  adminScope: string;
  /** absent if the setting `receipts` is `off` */
  receipts?: { receiptKeyArn: string; logKeyArn: string; logBucketName: string } | undefined;
  /** absent if the setting `search` is `opensearch` */
  snapshotBucketName?: string | undefined;
  /** present only then */
  searchCollectionEndpoint?: string | undefined;
  credentialPrefix: string;
  /** existing functions by the names of their rows */
  functions?: ReadonlyMap<string, Pick<EndpointFunction, 'lambda' | 'alias'>>;
}

/**
 * An environment handles one request at a time, of which little is alive at once: with Node's own bound for young objects it comes to hold
 * 100 MB more that nothing uses. Where Lambda's runtime passes a bound of its own, that one holds.
 */
export const nodeOptions = '--max-semi-space-size=8';

/** The environment of a function: only what its needs require. */
export function environmentOf(needs: Needs, credential: Endpoint['credential'], settings: Settings, parts: Parts): Record<string, string> {
  return {
    [variables.version]: version,
    [variables.protocol]: settings.protocol,
    // The local stack's functions are threads of one process, whose heap these options do not concern.
    ...(settings.stage !== 'local' && { NODE_OPTIONS: nodeOptions }),
    ...(settings.publicBaseUrl && { [variables.baseUrl]: settings.publicBaseUrl }),
    ...(settings.corsOrigins.length > 0 && { [variables.allowedOrigins]: settings.corsOrigins.join(',') }),
    ...(needs.table && { [variables.registryTable]: parts.tableNames.registry, [variables.activityTable]: parts.tableNames.activity }),
    ...(needs.kms && { [variables.signingKeys]: parts.signingKeyArns.join(',') }),
    ...(needs.callKey && { [variables.callKey]: parts.callKeyArn }),
    ...(needs.policy && settings.billing && { [variables.billing]: JSON.stringify(settings.billing) }),
    ...(needs.snapshots && parts.snapshotBucketName && { [variables.snapshotBucket]: parts.snapshotBucketName }),
    ...(needs.receipts && parts.receipts && receiptEnvironment(needs.receipts, settings, parts.receipts)),
    ...(needs.collection && parts.searchCollectionEndpoint && { [variables.searchCollection]: parts.searchCollectionEndpoint }),
    ...invokedEnvironment(needs, parts),
    ...(needs.announces && { [variables.approvalSeconds]: String(settings.approvalSeconds) }),
    ...(needs.credentials && { [variables.credentialPrefix]: parts.credentialPrefix }),
    ...(needs.kms?.includes('sign') && issueEnvironment(settings)),
    ...(needs.kms && needs.policy && proofEnvironment(settings)),
    ...((credential === 'admin' || needs.adminTokens) && adminEnvironment(parts)),
    ...(needs.signIn && parts.signIn && signInEnvironment(settings, parts.signIn, parts.userPoolId)),
    ...(needs.adminSignIn && settings.localUpstreams.length > 0 && { [variables.localUpstreams]: settings.localUpstreams.join(',') }),
    ...(needs.adminSignIn &&
      parts.console && { [variables.signInDomain]: parts.console.domain, [variables.consoleClient]: parts.console.clientId }),
    ...(needs.table?.log && { [variables.historyDays]: String(settings.historyDays) }),
    ...(needs.table?.log && { [variables.maxPerNamespace]: String(settings.maxPerNamespace) }),
    ...((needs.egress || needs.addressRules) && egressEnvironment(settings)),
    ...((needs.egress === 'intents' || needs.addressRules) && privateEnvironment(settings)),
  };
}

const invokedVariables = {
  'issue-pat': variables.issueFunction,
  'search-intents': variables.searchFunction,
  'run-deferred-call': variables.deferredFunction,
} as const;

const invokedEnvironment = ({ invokes = [] }: Needs, { functions }: Parts): Record<string, string> =>
  Object.fromEntries(
    invokes.flatMap((name) => {
      const made = functions?.get(name);
      return made ? [[invokedVariables[name], made.alias?.functionArn ?? made.lambda.functionName]] : [];
    }),
  );

const receiptEnvironment = (
  need: NonNullable<Needs['receipts']>,
  { receipts }: Settings,
  { receiptKeyArn, logKeyArn, logBucketName }: NonNullable<Parts['receipts']>,
) => ({
  [variables.receiptKey]: receiptKeyArn,
  ...(need === 'give' ? { [variables.receipts]: receipts } : { [variables.logKey]: logKeyArn, [variables.logBucket]: logBucketName }),
});

const issueEnvironment = ({ patLifeSeconds, issueLimitPerHour, agents, agentIds }: Settings) => ({
  [variables.agents]: agents,
  [variables.agentIds]: agentIds,
  [variables.patLifeSeconds]: String(patLifeSeconds),
  [variables.issueLimitPerHour]: String(issueLimitPerHour),
});

/** Requirements for agents, for functions that verify signatures and PATs or describe how to make them. */
const proofEnvironment = ({ requireFreshSignature, requireProofOfPossession }: Settings) => ({
  [variables.requireFreshSignature]: String(requireFreshSignature),
  [variables.requireProofOfPossession]: String(requireProofOfPossession),
});

const adminEnvironment = ({ userPoolId, adminClientIds, adminScope }: Parts) => ({
  [variables.userPool]: userPoolId,
  [variables.adminClients]: adminClientIds.join(','),
  [variables.adminScope]: adminScope,
});

const signInEnvironment = (
  { signInRedirectUris, signInSeconds, patLifeSeconds }: Settings,
  { domain, clientId }: NonNullable<Parts['signIn']>,
  userPoolId: string,
) => ({
  [variables.signInDomain]: domain,
  [variables.signInClient]: clientId,
  [variables.signInRedirects]: signInRedirectUris.join(','),
  [variables.signInSeconds]: String(signInSeconds),
  [variables.userPool]: userPoolId,
  [variables.patLifeSeconds]: String(patLifeSeconds),
});

const privateEnvironment = ({ privateOrigins }: Settings) => ({
  ...(privateOrigins.length > 0 && { [variables.privateOrigins]: privateOrigins.join(',') }),
});

const egressEnvironment = ({ egressPorts, allowLoopback, localUpstreams }: Settings) => ({
  [variables.egressPorts]: egressPorts.join(','),
  ...(allowLoopback && { [variables.egressLoopback]: 'true' }),
  ...(localUpstreams.length > 0 && { [variables.localUpstreams]: localUpstreams.join(',') }),
});
