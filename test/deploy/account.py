"""What a test does with the emulated account, besides deploying to it. Prints JSON.

account.py list                     what stands in the account
account.py invoke NAME              runs a function
account.py tag-bucket NAME TAG
account.py discard BEFORE           deletes the tables, user pools, keys and buckets that are not in this listing
"""
import json
import sys

import botocore.session
from botocore.config import Config

session = botocore.session.get_session()
config = Config(retries={"max_attempts": 0}, s3={"addressing_style": "path"})


def client(service):
    return session.create_client(service, config=config)


def names(service, operation, member, name):
    answer = client(service).get_paginator(operation).paginate() if client(service).can_paginate(operation) else [getattr(client(service), operation)()]
    return sorted(item[name] if name else item for page in answer for item in page.get(member, []))


def user_pools():
    return sorted(pool["Id"] for pool in client("cognito-idp").list_user_pools(MaxResults=60)["UserPools"])


def live_keys():
    kms = client("kms")
    states = {key["KeyId"]: kms.describe_key(KeyId=key["KeyId"])["KeyMetadata"]["KeyState"] for key in kms.list_keys()["Keys"]}
    return sorted(key for key, state in states.items() if state == "Enabled")


def log_groups():
    """Without those that the emulator makes anew for a line that a function writes while it is deleted: they lack the retention of the
    template's groups. On AWS no function of the stack may make one (test/lib/template.check.ts)."""
    groups = [group for page in client("logs").get_paginator("describe_log_groups").paginate() for group in page["logGroups"]]
    return sorted(
        group["logGroupName"]
        for group in groups
        if not group["logGroupName"].startswith("/aws/cloudformation/") or "retentionInDays" in group
    )


def functions():
    pages = client("lambda").get_paginator("list_functions").paginate()
    return {found["FunctionName"]: [found["FunctionArn"], found["Role"]] for page in pages for found in page["Functions"]}


def listing():
    return {
        "functions": functions(),
        "tables": names("dynamodb", "list_tables", "TableNames", None),
        "buckets": names("s3", "list_buckets", "Buckets", "Name"),
        "log_groups": log_groups(),
        "user_pools": user_pools(),
        "keys": live_keys(),
        "apis": names("apigateway", "get_rest_apis", "items", "id"),
        "alarms": names("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName"),
        "dashboards": names("cloudwatch", "list_dashboards", "DashboardEntries", "DashboardName"),
        "topics": names("sns", "list_topics", "Topics", "TopicArn"),
        "rules": names("events", "list_rules", "Rules", "Name"),
        "secrets": names("secretsmanager", "list_secrets", "SecretList", "Name"),
        "roles": names("iam", "list_roles", "Roles", "RoleName"),
        "security_groups": names("ec2", "describe_security_groups", "SecurityGroups", "GroupId"),
        "interfaces": names("ec2", "describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId"),
    }


def discard(before):
    now = listing()
    for table in set(now["tables"]) - set(before["tables"]):
        client("dynamodb").update_table(TableName=table, DeletionProtectionEnabled=False)
        client("dynamodb").delete_table(TableName=table)
    for pool in set(now["user_pools"]) - set(before["user_pools"]):
        client("cognito-idp").update_user_pool(UserPoolId=pool, DeletionProtection="INACTIVE")
        client("cognito-idp").delete_user_pool(UserPoolId=pool)
    for key in set(now["keys"]) - set(before["keys"]):
        client("kms").schedule_key_deletion(KeyId=key, PendingWindowInDays=7)
    for bucket in set(now["buckets"]) - set(before["buckets"]):
        s3 = client("s3")
        versions = s3.list_object_versions(Bucket=bucket)
        for found in versions.get("Versions", []) + versions.get("DeleteMarkers", []):
            s3.delete_object(Bucket=bucket, Key=found["Key"], VersionId=found["VersionId"])
        s3.delete_bucket(Bucket=bucket)


if sys.argv[1] == "list":
    print(json.dumps(listing()))
elif sys.argv[1] == "tag-bucket":
    client("s3").put_bucket_tagging(Bucket=sys.argv[2], Tagging={"TagSet": [{"Key": sys.argv[3], "Value": "true"}]})
    print("{}")
elif sys.argv[1] == "discard":
    discard(json.loads(sys.argv[2]))
    print("{}")
else:
    answer = client("lambda").invoke(FunctionName=sys.argv[2], Payload=b"{}")
    print(json.dumps({"error": answer.get("FunctionError"), "payload": answer["Payload"].read().decode()}))
