import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, Billing, type ITable, TableEncryptionV2, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import type { TableName } from '../functions/core/table/keys.ts';
import type { Settings } from './settings.ts';

/** A table as the rest of the stack uses it. */
export type AnyTable = Omit<ITable, 'tableStreamArn'>;

export type Tables = Record<TableName, AnyTable>;

/**
 * The two tables; `functions/core/table/keys.ts` says which records each holds and makes their keys. They are global tables with a replica
 * in one region, so that a second region needs no migration. Those that a deleted stack left are taken over as they are.
 */
export const createTables = (scope: Construct, settings: Settings): Tables => {
  const { registryTable, activityTable } = settings.adopt ?? {};
  return {
    registry: registryTable ? TableV2.fromTableName(scope, 'Registry', registryTable) : createTable(scope, 'Registry', settings),
    activity: activityTable ? TableV2.fromTableName(scope, 'Activity', activityTable) : createTable(scope, 'Activity', settings),
  };
};

const createTable = (scope: Construct, id: string, { retainData }: Settings): TableV2 =>
  new TableV2(scope, id, {
    partitionKey: { name: 'pk', type: AttributeType.STRING },
    sortKey: { name: 'sk', type: AttributeType.STRING },
    billing: Billing.onDemand(),
    timeToLiveAttribute: 'expires_at',
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    encryption: TableEncryptionV2.awsManagedKey(),
    deletionProtection: retainData,
    removalPolicy: retainData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
  });
