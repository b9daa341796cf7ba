import { Lazy, Names, Stack } from 'aws-cdk-lib';
import type { IRole } from 'aws-cdk-lib/aws-iam';
import { CfnAccessPolicy, CfnCollection, CfnSecurityPolicy } from 'aws-cdk-lib/aws-opensearchserverless';
import { Construct } from 'constructs';
import type { Settings } from '../settings.ts';

/** Permissions on the collection's only index, as named in data access policies. */
const indexPermissions = {
  read: ['aoss:DescribeIndex', 'aoss:ReadDocument'],
  write: ['aoss:CreateIndex', 'aoss:DescribeIndex', 'aoss:ReadDocument', 'aoss:WriteDocument'],
};

export type CollectionAccess = keyof typeof indexPermissions;

/** The OpenSearch Serverless collection (setting `search: opensearch`). Its content is derived from the table. */
export class SearchCollection extends Construct {
  readonly arn: string;
  readonly endpoint: string;
  private readonly name: string;
  private readonly roles: Record<CollectionAccess, string[]> = { read: [], write: [] };

  constructor(scope: Construct, id: string, { stage }: Settings) {
    super(scope, id);
    this.name = Names.uniqueResourceName(this, { maxLength: 28, allowedSpecialCharacters: '' }).toLowerCase();
    const collections = { ResourceType: 'collection', Resource: [`collection/${this.name}`] };
    const encryption = new CfnSecurityPolicy(this, 'Encryption', {
      name: `${this.name}-e`,
      type: 'encryption',
      policy: JSON.stringify({ Rules: [collections], AWSOwnedKey: true }),
    });
    // Reachable over the internet like the other parts, but only for requests signed by a role in the access policy.
    const network = new CfnSecurityPolicy(this, 'Network', {
      name: `${this.name}-n`,
      type: 'network',
      policy: JSON.stringify([{ Rules: [collections], AllowFromPublic: true }]),
    });
    const collection = new CfnCollection(this, 'Collection', {
      name: this.name,
      type: 'SEARCH',
      description: 'Intent Gate: the search index',
      standbyReplicas: stage === 'production' ? 'ENABLED' : 'DISABLED',
    });
    collection.addResourceDependency(encryption);
    collection.addResourceDependency(network);
    this.arn = collection.attrArn;
    this.endpoint = collection.attrCollectionEndpoint;
    new CfnAccessPolicy(this, 'Access', { name: `${this.name}-a`, type: 'data', policy: this.accessPolicy() });
  }

  /** Grants a role access to the index. The role's own policy must also allow `aoss:APIAccessAll` on the collection. */
  allow(access: CollectionAccess, role: IRole): void {
    this.roles[access].push(role.roleArn);
  }

  /** The data access policy, rendered lazily when every role is known. */
  private accessPolicy(): string {
    const statements = () =>
      Object.entries(indexPermissions)
        .map(([access, Permission]) => ({
          Rules: [{ ResourceType: 'index', Resource: [`index/${this.name}/*`], Permission }],
          Principal: this.roles[access as CollectionAccess],
        }))
        .filter(({ Principal }) => Principal.length > 0);
    return Lazy.string({ produce: () => Stack.of(this).toJsonString(statements()) });
  }
}
