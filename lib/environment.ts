import { variables } from '../functions/core/environment.ts';
import type { Endpoint, Needs } from './endpoints.ts';
import type { Settings } from './settings.ts';
import { version } from './version.ts';

/** What functions have to know about the stack. */
export interface Parts {
  tableName: string;
  /** the first signs, all verify */
  signingKeyArns: readonly string[];
  userPoolId: string;
  adminClientIds: readonly string[];
  adminScope: string;
  /** none if the setting `search` is `opensearch` */
  snapshotBucketName?: string | undefined;
  /** only then */
  searchCollectionEndpoint?: string | undefined;
  /** prefix of the names of the services' secrets */
  credentialPrefix: string;
  /** namespace of the metrics that functions write */
  metricsNamespace: string;
}

/** The environment of one function: what its needs require and nothing else. */
export function environmentOf(needs: Needs, credential: Endpoint['credential'], settings: Settings, parts: Parts): Record<string, string> {
  return {
    [variables.version]: version,
    [variables.protocol]: settings.protocol,
    POWERTOOLS_METRICS_NAMESPACE: parts.metricsNamespace,
    ...(settings.publicBaseUrl && { [variables.baseUrl]: settings.publicBaseUrl }),
    ...(settings.corsOrigins.length > 0 && { [variables.allowedOrigins]: settings.corsOrigins.join(',') }),
    ...((needs.table || needs.scan) && { [variables.table]: parts.tableName }),
    ...(needs.kms && { [variables.signingKeys]: parts.signingKeyArns.join(',') }),
    ...(needs.policy && settings.billing && { [variables.billing]: JSON.stringify(settings.billing) }),
    ...(needs.snapshots && parts.snapshotBucketName && { [variables.snapshotBucket]: parts.snapshotBucketName }),
    ...(needs.collection && parts.searchCollectionEndpoint && { [variables.searchCollection]: parts.searchCollectionEndpoint }),
    ...(needs.credentials && { [variables.credentialPrefix]: parts.credentialPrefix }),
    ...(needs.kms?.includes('sign') && issueEnvironment(settings)),
    ...(needs.kms && needs.policy && proofEnvironment(settings)),
    ...(credential === 'admin' && adminEnvironment(parts)),
    ...((needs.egress || needs.addressRules) && egressEnvironment(settings)),
  };
}

const issueEnvironment = ({ patLifeSeconds, issueLimitPerHour }: Settings) => ({
  [variables.patLifeSeconds]: String(patLifeSeconds),
  [variables.issueLimitPerHour]: String(issueLimitPerHour),
});

/** What is required of agents, for functions that accept their signatures or PATs, or tell them how to make one. */
const proofEnvironment = ({ requireFreshSignature, requireProofOfPossession }: Settings) => ({
  [variables.requireFreshSignature]: String(requireFreshSignature),
  [variables.requireProofOfPossession]: String(requireProofOfPossession),
});

const adminEnvironment = ({ userPoolId, adminClientIds, adminScope }: Parts) => ({
  [variables.userPool]: userPoolId,
  [variables.adminClients]: adminClientIds.join(','),
  [variables.adminScope]: adminScope,
});

const egressEnvironment = ({ egressPorts, allowLoopback }: Settings) => ({
  [variables.egressPorts]: egressPorts.join(','),
  ...(allowLoopback && { [variables.egressLoopback]: 'true' }),
});
