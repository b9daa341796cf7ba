import { variables } from '../functions/core/environment.ts';
import type { Endpoint } from './endpoints.ts';
import type { Settings } from './settings.ts';

/** What the stack made that functions have to know. */
export interface Parts {
  tableName: string;
  /** the first signs, all verify */
  signingKeyArns: readonly string[];
  userPoolId: string;
  adminClientIds: readonly string[];
  adminScope: string;
}

/** The environment of one function: what its row of the endpoint table needs and nothing else. */
export function environmentOf(
  { credential, needs }: Pick<Endpoint, 'credential' | 'needs'>,
  settings: Settings,
  parts: Parts,
): Record<string, string> {
  const { table, protocol, baseUrl, signingKeys, patLifeSeconds, issueLimitPerHour, billing, ...others } = variables;
  const { requireFreshSignature, requireProofOfPossession, userPool, adminClients, adminScope, egressPorts, egressLoopback } = others;
  const publicBaseUrl = settings.publicBaseUrl;
  const signs = needs.kms?.includes('sign');
  return {
    [protocol]: settings.protocol,
    ...(publicBaseUrl !== undefined && { [baseUrl]: publicBaseUrl }),
    ...(needs.table && { [table]: parts.tableName }),
    ...(needs.kms && { [signingKeys]: parts.signingKeyArns.join(',') }),
    ...(signs && {
      [patLifeSeconds]: String(settings.patLifeSeconds),
      [issueLimitPerHour]: String(settings.issueLimitPerHour),
      [requireFreshSignature]: String(settings.requireFreshSignature),
      ...(settings.billing && { [billing]: JSON.stringify(settings.billing) }),
    }),
    ...((signs || credential === 'pat') && { [requireProofOfPossession]: String(settings.requireProofOfPossession) }),
    ...(credential === 'admin' && {
      [userPool]: parts.userPoolId,
      [adminClients]: parts.adminClientIds.join(','),
      [adminScope]: parts.adminScope,
    }),
    ...((needs.egress || needs.addressRules) && {
      [egressPorts]: settings.egressPorts.join(','),
      ...(settings.allowLoopback && { [egressLoopback]: 'true' }),
    }),
  };
}
