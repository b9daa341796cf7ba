import type { Stage } from 'aws-cdk-lib/aws-apigateway';
import { CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2';
import type { Construct } from 'constructs';
import type { Settings } from './settings.ts';

/**
 * Endpoints that anyone may call and that cost more than others: one verifies a signature and signs, one ranks, one does either. What is
 * compared is the end of a path, so that it stands for the further paths of an endpoint too.
 */
const limitedPaths = { IssuePat: '/pat/issue', Search: '/intents/search', Mcp: '/mcp' };

const visibility = (metricName: string) => ({ metricName, cloudWatchMetricsEnabled: true, sampledRequestsEnabled: true });

/**
 * A firewall with rate rules only: blocked requests are therefore answered 429, by the API's gateway response for
 * filtered requests.
 */
export function protect(scope: Construct, stage: Stage, { wafRequestsPerFiveMinutes }: Settings): CfnWebACL {
  const acl = new CfnWebACL(scope, 'Firewall', {
    scope: 'REGIONAL',
    defaultAction: { allow: {} },
    description: 'Intent Gate: limits requests per address on PAT issue, search and MCP',
    visibilityConfig: visibility('IntentGate'),
    rules: Object.entries(limitedPaths).map(([name, path], priority) => ({
      name,
      priority,
      action: { block: {} },
      visibilityConfig: visibility(name),
      statement: {
        rateBasedStatement: {
          aggregateKeyType: 'IP',
          limit: wafRequestsPerFiveMinutes,
          evaluationWindowSec: 300,
          scopeDownStatement: {
            byteMatchStatement: {
              fieldToMatch: { uriPath: {} },
              positionalConstraint: 'CONTAINS',
              searchString: path,
              textTransformations: [{ priority: 0, type: 'URL_DECODE' }],
            },
          },
        },
      },
    })),
  });
  new CfnWebACLAssociation(scope, 'FirewallAssociation', { resourceArn: stage.stageArn, webAclArn: acl.attrArn });
  return acl;
}
