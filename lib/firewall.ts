import type { Stage } from 'aws-cdk-lib/aws-apigateway';
import { CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2';
import type { Construct } from 'constructs';
import { declarations } from './features.ts';
import type { Settings } from './settings.ts';

/**
 * Public endpoints that cost more than others: issuing verifies a signature and signs, search ranks. Paths that contain one of these
 * match, which includes an endpoint's further paths.
 */
const limitedPaths: Record<string, string> = Object.assign(
  { IssuePat: '/pat/issue', Search: '/intents/search' },
  ...declarations.map((feature) => feature.limitedPaths),
);

const visibility = (metricName: string) => ({ metricName, cloudWatchMetricsEnabled: true, sampledRequestsEnabled: true });

/**
 * A firewall with rate rules only, so the API's gateway response for filtered requests answers 429.
 */
export function protect(scope: Construct, stage: Stage, { wafRequestsPerFiveMinutes }: Settings, gateName: string): CfnWebACL {
  const perAddress = { aggregateKeyType: 'IP', evaluationWindowSec: 300 };
  const limits: [name: string, statement: CfnWebACL.RateBasedStatementProperty][] = [
    ...Object.entries(limitedPaths).map(([name, path]): [string, CfnWebACL.RateBasedStatementProperty] => [
      name,
      { ...perAddress, limit: wafRequestsPerFiveMinutes, scopeDownStatement: { byteMatchStatement: pathWith(path) } },
    ]),
    ['EveryPath', { ...perAddress, limit: 10 * wafRequestsPerFiveMinutes }],
  ];
  const acl = new CfnWebACL(scope, 'Firewall', {
    scope: 'REGIONAL',
    defaultAction: { allow: {} },
    description: 'Intent Gate: limits the requests of each address',
    visibilityConfig: visibility(gateName),
    rules: limits.map(([name, rateBasedStatement], priority) => ({
      name,
      priority,
      action: { block: {} },
      visibilityConfig: visibility(name),
      statement: { rateBasedStatement },
    })),
  });
  new CfnWebACLAssociation(scope, 'FirewallAssociation', { resourceArn: stage.stageArn, webAclArn: acl.attrArn });
  return acl;
}

const pathWith = (searchString: string): CfnWebACL.ByteMatchStatementProperty => ({
  fieldToMatch: { uriPath: {} },
  positionalConstraint: 'CONTAINS',
  searchString,
  textTransformations: [{ priority: 0, type: 'URL_DECODE' }],
});
