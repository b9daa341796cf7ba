import { Stack } from 'aws-cdk-lib';
import { CfnSecurityGroup } from 'aws-cdk-lib/aws-ec2';
import { Effect, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { targetOf } from '../functions/core/relay/egress.ts';
import { acknowledge } from './acknowledge.ts';
import type { EndpointFunction } from './endpoint-function.ts';
import type { Settings } from './settings.ts';

/** The network of functions that call intents (setting `vpc`). */
export interface Network {
  subnetIds: string[];
  securityGroupIds: string[];
}

/** Its security group allows outbound traffic to intents and AWS, and no inbound. Security groups do not filter queries to Amazon's DNS. */
export function createNetwork(scope: Construct, { vpc, egressPorts, privateOrigins }: Settings): Network | undefined {
  if (!vpc) return undefined;
  const { vpcId = '', subnetIds, securityGroupIds } = vpc;
  if (securityGroupIds) return { subnetIds, securityGroupIds };
  const ports = new Set([...egressPorts, ...privateOrigins.map((origin) => targetOf(new URL(origin)).port)]);
  const group = new CfnSecurityGroup(scope, 'Egress', {
    vpcId,
    groupDescription: 'Intent Gate: functions that call intents',
    securityGroupEgress: [...ports].map((port) => ({
      cidrIp: '0.0.0.0/0',
      ipProtocol: 'tcp',
      fromPort: port,
      toPort: port,
      description: 'Intents, and services of AWS',
    })),
  });
  return { subnetIds, securityGroupIds: [group.attrGroupId] };
}

/** Places a function in the network. Only Lambda itself, not the function's code, may use the role's network permissions. */
export function place({ resource, role, permissions }: EndpointFunction, { subnetIds, securityGroupIds }: Network): void {
  resource.vpcConfig = { subnetIds, securityGroupIds };
  const arnOf = (kind: string, id: string) => Stack.of(role).formatArn({ service: 'ec2', resource: kind, resourceName: id });
  const interfaces = arnOf('network-interface', '*');
  permissions.addStatements(
    new PolicyStatement({ actions: ['ec2:DescribeNetworkInterfaces', 'ec2:DescribeSubnets'], resources: ['*'] }),
    new PolicyStatement({
      actions: ['ec2:CreateNetworkInterface'],
      resources: [interfaces, ...subnetIds.map((id) => arnOf('subnet', id)), ...securityGroupIds.map((id) => arnOf('security-group', id))],
    }),
    new PolicyStatement({
      actions: ['ec2:DeleteNetworkInterface', 'ec2:AssignPrivateIpAddresses', 'ec2:UnassignPrivateIpAddresses'],
      resources: [interfaces],
    }),
    new PolicyStatement({
      effect: Effect.DENY,
      actions: ['ec2:*'],
      resources: ['*'],
      conditions: { Null: { 'lambda:SourceFunctionArn': 'false' } },
    }),
  );
  const reason = 'Lambda chooses the network interfaces; the function itself is denied all of EC2.';
  const named = 'arn:<AWS::Partition>:ec2:<AWS::Region>:<AWS::AccountId>:network-interface/*';
  acknowledge(role, { 'AwsSolutions-IAM5[Resource::*]': reason, [`AwsSolutions-IAM5[Resource::${named}]`]: reason });
}
