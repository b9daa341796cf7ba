import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Endpoint, TableNeed } from './endpoints.ts';

const tableActions: Record<TableNeed, string[]> = {
  read: ['GetItem', 'BatchGetItem', 'Query'],
  write: ['PutItem', 'UpdateItem'],
  delete: ['DeleteItem'],
  scan: ['Scan'],
};

export interface Resources {
  tableArn: string;
  /** the first signs, all verify */
  signingKeyArns: [string, ...string[]];
}

/** What a function may do: exactly what its row of the endpoint table needs. */
export function statementsFor({ table = [], kms = [] }: Endpoint['needs'], { tableArn, signingKeyArns }: Resources): PolicyStatement[] {
  const allow = (actions: string[], resources: string[]) => (actions.length > 0 ? [new PolicyStatement({ actions, resources })] : []);
  return [
    ...allow(
      table.flatMap((need) => tableActions[need].map((action) => `dynamodb:${action}`)),
      [tableArn],
    ),
    ...(kms.includes('sign') ? allow(['kms:Sign'], [signingKeyArns[0]]) : []),
    ...(kms.includes('publicKey') ? allow(['kms:GetPublicKey'], signingKeyArns) : []),
  ];
}
