import { AttributeType, Billing, type CfnGlobalTable, type ITable, TableEncryptionV2, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import type { TableName } from '../functions/core/table/keys.ts';
import { isProtected, removalPolicyOf } from './retention.ts';
import type { Settings } from './settings.ts';

export type AnyTable = Omit<ITable, 'tableStreamArn'>;

export type Tables = Record<TableName, AnyTable>;

/**
 * The two tables; `functions/core/table/keys.ts` defines their records and keys. They cannot be converted to multi-Region strong consistency:
 * DynamoDB requires such tables to be created empty, in three regions, and without TTL. Tables left by a deleted stack are adopted unchanged.
 */
export const createTables = (scope: Construct, settings: Settings, key?: IKey): Tables => {
  const { registryTable, activityTable } = settings.adopt ?? {};
  return {
    registry: registryTable ? TableV2.fromTableName(scope, 'Registry', registryTable) : createTable(scope, 'Registry', settings, key),
    activity: activityTable ? TableV2.fromTableName(scope, 'Activity', activityTable) : createTable(scope, 'Activity', settings, key),
  };
};

const createTable = (scope: Construct, id: string, settings: Settings, key?: IKey): TableV2 => {
  const table = new TableV2(scope, id, {
    partitionKey: { name: 'pk', type: AttributeType.STRING },
    sortKey: { name: 'sk', type: AttributeType.STRING },
    billing: Billing.onDemand(),
    timeToLiveAttribute: 'expires_at',
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    encryption: key ? TableEncryptionV2.awsManagedKey() : TableEncryptionV2.dynamoOwnedKey(),
    deletionProtection: isProtected(settings),
    removalPolicy: removalPolicyOf(settings),
  });
  // The construct would need a fixed region for a customer managed key, which replaces the AWS managed key.
  const resource = table.node.defaultChild as CfnGlobalTable;
  if (key) resource.addPropertyOverride('Replicas.0.SSESpecification.KMSMasterKeyId', key.keyArn);
  return table;
};
