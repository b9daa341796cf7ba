import { Annotations } from 'aws-cdk-lib';
import { Connections, type IConnectable, Peer, Port, SecurityGroup, Subnet, Vpc } from 'aws-cdk-lib/aws-ec2';
import { Effect, type IRole, Policy, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { FunctionOptions } from 'aws-cdk-lib/aws-lambda';
import { Construct, type IConstruct } from 'constructs';
import { targetOf } from '../functions/core/relay/egress.ts';
import { acknowledge } from './acknowledge.ts';
import type { Settings } from './settings.ts';

const interfaceActions = [
  'ec2:CreateNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:DeleteNetworkInterface',
  'ec2:AssignPrivateIpAddresses',
  'ec2:UnassignPrivateIpAddresses',
];

/**
 * The network of functions that call intents (setting `vpc`). The security group that it creates allows outbound traffic to intents and AWS, and no
 * inbound. Security groups do not filter queries to Amazon's DNS.
 */
export class Network extends Construct implements IConnectable {
  readonly connections: Connections;
  readonly placement: Pick<FunctionOptions, 'vpc' | 'vpcSubnets' | 'securityGroups'>;
  private readonly permissions: Policy;

  constructor(scope: Construct, id: string, vpc: NonNullable<Settings['vpc']>, { egressPorts, privateOrigins }: Settings) {
    super(scope, id);
    const { vpcId = '', subnetIds, securityGroupIds } = vpc;
    // The import needs a zone, but nothing here depends on it.
    const network = Vpc.fromVpcAttributes(this, 'Vpc', { vpcId, availabilityZones: [''] });
    this.permissions = this.createPermissions();
    const createGroup = () => {
      const group = new SecurityGroup(this, 'Egress', {
        vpc: network,
        description: 'Intent Gate: functions that call intents',
        allowAllOutbound: false,
      });
      const ports = new Set([...egressPorts, ...privateOrigins.map((origin) => targetOf(new URL(origin)).port)]);
      for (const port of ports) group.addEgressRule(Peer.anyIpv4(), Port.tcp(port), 'Intents, and services of AWS');
      // The group can be deleted once its interfaces are, so until then Lambda keeps the permission to delete them.
      group.node.addDependency(this.permissions);
      return group;
    };
    const securityGroups = securityGroupIds?.map((one, at) => SecurityGroup.fromSecurityGroupId(this, `Group${at}`, one)) ?? [
      createGroup(),
    ];
    const subnets = subnetIds.map((one, at) => Subnet.fromSubnetId(this, `Subnet${at}`, one));
    Annotations.of(this).acknowledgeWarning('@aws-cdk/aws-ec2:noSubnetRouteTableId', 'Nothing here depends on route tables.');
    this.connections = new Connections({ securityGroups });
    this.placement = { vpc: network, vpcSubnets: { subnets }, securityGroups };
  }

  /** Lets Lambda connect a function that was created with the `placement`. */
  connect({ lambda, role }: { lambda: IConstruct; role: IRole }): void {
    this.permissions.attachToRole(role);
    lambda.node.addDependency(this.permissions);
  }

  /**
   * Only Lambda itself, not the code of functions, may use the roles' network permissions. They name no interfaces, because Lambda checks them before
   * there are any. They are a resource of their own: CloudFormation deletes it after it has taken the functions out of the network, but would take
   * permissions inside the roles away before, and Lambda could not delete the interfaces.
   */
  private createPermissions(): Policy {
    const permissions = new Policy(this, 'Interfaces', {
      statements: [
        new PolicyStatement({ actions: interfaceActions, resources: ['*'] }),
        new PolicyStatement({
          effect: Effect.DENY,
          actions: ['ec2:*'],
          resources: ['*'],
          conditions: { Null: { 'lambda:SourceFunctionArn': 'false' } },
        }),
      ],
    });
    acknowledge(permissions, {
      'AwsSolutions-IAM5[Resource::*]': 'Lambda chooses the network interfaces; the function itself is denied all of EC2.',
    });
    return permissions;
  }
}
