"""What the emulator lacks of functions in a network, as the documentation of Lambda and CloudFormation describes it.

Lambda checks the permissions of a function's role before there is an interface to name, in its own name and not in that of the function's code. It makes one interface for
each subnet and set of security groups. It deletes an interface some time after the last function has left it, if the role may still do so then. Until that, EC2 refuses to
delete the security group.
"""

from ministack.core.iam_evaluator import EvalContext, _gather_role_policies, evaluate
from ministack.core.responses import get_account_id, get_region
from ministack.services import ec2
from ministack.services.cloudformation.provisioners import _RESOURCE_HANDLERS as handlers

functions = handlers["AWS::Lambda::Function"]
groups = handlers["AWS::EC2::SecurityGroup"]
create_function, update_function, delete_function, delete_group = functions["create"], functions["update"], functions["delete"], groups["delete"]

LAMBDA_NEEDS = ["CreateNetworkInterface", "DescribeNetworkInterfaces", "DescribeSubnets", "DeleteNetworkInterface", "AssignPrivateIpAddresses", "UnassignPrivateIpAddresses"]


def allows(role_arn, action, resource):
    """Whether a role's policies allow an action to a service that uses it."""
    account = get_account_id()
    context = EvalContext(principal_arn=role_arn, principal_type="AssumedRole", principal_account=account, action=action, resource_arn=resource, region=get_region())
    return evaluate(context, _gather_role_policies(role_arn.rpartition("/")[2], account)).decision == "Allow"


def places(props):
    config = props.get("VpcConfig") or {}
    return {(subnet, tuple(config.get("SecurityGroupIds", []))) for subnet in config.get("SubnetIds", [])}


def place(name, props):
    wanted = places(props)
    for action in LAMBDA_NEEDS if wanted else []:
        if not allows(props["Role"], f"ec2:{action}", "*"):
            raise ValueError(f"The provided execution role does not have permissions to call {action} on EC2")
    for interface in list(ec2._network_interfaces.values()):
        interface.get("functions", {}).pop(name, None)
    for subnet, group_ids in wanted:
        key = f"{subnet} {' '.join(group_ids)}"
        interface = next((one for one in ec2._network_interfaces.values() if one.get("key") == key), None)
        if interface is None:
            ec2._create_network_interface({"SubnetId": [subnet], "Description": ["AWS Lambda VPC ENI"], **{f"SecurityGroupId.{at + 1}": [one] for at, one in enumerate(group_ids)}})
            interface = list(ec2._network_interfaces.values())[-1]
        interface.update(key=key, functions={**interface.get("functions", {}), name: True}, role=props["Role"])


def create(logical_id, props, stack_name):
    made = create_function(logical_id, props, stack_name)
    place(made[0], props)
    return made


def update(physical_id, old_props, new_props, stack_name, logical_id=None):
    place(physical_id, new_props)
    return update_function(physical_id, old_props, new_props, stack_name, logical_id)


def delete(physical_id, props):
    place(physical_id, {"Role": props.get("Role", "")})
    sweep()
    return delete_function(physical_id, props)


def sweep():
    """Lambda deletes the interfaces that no function uses and that it may delete. CloudFormation waits for it when it deletes a function."""
    for interface_id, interface in list(ec2._network_interfaces.items()):
        if interface.get("functions") == {} and allows(interface["role"], "ec2:DeleteNetworkInterface", "*"):
            del ec2._network_interfaces[interface_id]


def delete_group_once_unused(physical_id, props):
    sweep()
    if any(group["GroupId"] == physical_id for one in ec2._network_interfaces.values() for group in one["Groups"]):
        raise ValueError(f"resource {physical_id} has a dependent object (Service: AmazonEC2; Error Code: DependencyViolation)")
    return delete_group(physical_id, props)


functions.update(create=create, update=update, delete=delete)
groups["delete"] = delete_group_once_unused
