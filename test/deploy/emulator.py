"""Starts the emulator of AWS, and mends what version 1.5.33 does otherwise than AWS.

It replaces a global table whose name CloudFormation has made whenever one of its properties changes; only another key schema or name does. When it creates a REST API from an OpenAPI document, version 1.5.33 leaves out methods called ANY, what mock integrations answer, the
roles of others, and gateway responses. API Gateway imports all four. It reads the filter of a log subscription as words that a line has to contain. It invokes the functions of an API without the role that the API names for that. It has no CodeDeploy; here applications and deployment groups are
names alone, and an alias gets its new version with all requests. It answers no request between two changes of a stack, which take time on AWS. It refuses alarms on the sum of several metrics. It looks for the code of functions in files that end in .js or .mjs, not .cjs. It stops functions that are running when they change; here
they run again.
"""

import functools
import json
import re
import sys
import time

from ministack.app import main
from ministack.core import lambda_runtime
from ministack.services import apigateway_v1 as api
from ministack.services import cloudwatch_logs as logs
from ministack.services import lambda_svc
from ministack.services.cloudformation import provisioners, stacks
from ministack.services.cloudformation.provisioners import _RESOURCE_HANDLERS as handlers

from networks import allows

ANY_METHOD = "x-amazon-apigateway-any-method"
import_operation = api._import_operation
import_rest_api = api._import_rest_api


def import_whole_operation(api_id, resource_id, http_method, operation, *rest):
    method = "ANY" if http_method.lower() == ANY_METHOD else http_method
    import_operation(api_id, resource_id, method, operation, *rest)
    integration = operation["x-amazon-apigateway-integration"]
    api._put_integration(api_id, resource_id, method, {**integration, "type": integration["type"].upper()})
    if integration["type"] != "mock":
        return
    for status, response in operation["responses"].items():
        headers = {f"method.response.header.{name}": True for name in response.get("headers", {})}
        api._put_method_response(api_id, resource_id, method, status, {"responseParameters": headers})
    for answer in integration["responses"].values():
        api._put_integration_response(api_id, resource_id, method, answer["statusCode"], answer)


def import_whole_rest_api(spec, base_data=None):
    api_id = import_rest_api(spec, base_data)
    for response_type, response in spec.get("x-amazon-apigateway-gateway-responses", {}).items():
        status, _, body = api._put_gateway_response(api_id, response_type, response)
        if status >= 400:
            raise ValueError(f"gateway response {response_type}: {json.loads(body)}")
    return api_id


global_tables = handlers["AWS::DynamoDB::GlobalTable"]
update_global_table = global_tables["update"]


def update_in_place(physical_id, old_props, new_props, stack_name):
    named = {"TableName": physical_id}
    return update_global_table(physical_id, {**named, **old_props}, {**named, **new_props}, stack_name)


def matches_filter(pattern, message):
    name, value = re.fullmatch(r'{ \$\.(\w+) = "([^"]*)" }', pattern).groups()
    return message.startswith("{") and json.loads(message).get(name) == value


record_alarm = provisioners._cw_metric_alarm_record


def record_alarm_on_first(name, props):
    """An alarm on several metrics watches the first of them."""
    stats = [metric["MetricStat"] for metric in props.get("Metrics", []) if "MetricStat" in metric]
    if not stats:
        return record_alarm(name, props)
    first = {**stats[0]["Metric"], "Period": stats[0]["Period"], "Statistic": stats[0]["Stat"]}
    return record_alarm(name, {**props, **first, "Metrics": None})


invoke = api._invoke_lambda_proxy_v1


async def invoke_in_role(integration, *rest, **named):
    invoked = integration["uri"].partition("/functions/")[2].removesuffix("/invocations")
    if not allows(integration["credentials"], "lambda:InvokeFunction", invoked):
        return api._gw_error("API_CONFIGURATION_ERROR", "Internal server error")
    return await invoke(integration, *rest, **named)


def name_alone(logical_id, props, stack_name):
    return f"{stack_name}-{logical_id}", {}


for kind in ["Application", "DeploymentGroup"]:
    handlers[f"AWS::CodeDeploy::{kind}"] = {"create": name_alone, "delete": lambda physical_id, props: None}
execute = lambda_svc._execute_function


def execute_undisturbed(*args, **named):
    for _ in range(5):
        result = execute(*args, **named)
        if not (result.get("error") and re.search("Worker process died|no attribute 'stdin'", str(result.get("body")))):
            break
    return result


def slowly(change):
    """Leaves time for requests before an API changes, and after a policy has."""
    def change_slowly(*args, **named):
        time.sleep(1)
        changed = change(*args, **named)
        time.sleep(1)
        return changed

    return functools.wraps(change)(change_slowly)


SLOW = {"AWS::ApiGateway::RestApi", "AWS::IAM::Policy"}
runs_on_worker_thread = stacks._runs_on_worker_thread
stacks._runs_on_worker_thread = lambda kind: kind in SLOW or runs_on_worker_thread(kind)
for kind in SLOW:
    handlers[kind]["update"] = slowly(handlers[kind]["update"])
lambda_svc._execute_function = execute_undisturbed
api._invoke_lambda_proxy_v1 = invoke_in_role
provisioners._cw_metric_alarm_record = record_alarm_on_first
lambda_runtime._NODEJS_WORKER_SCRIPT = lambda_runtime._NODEJS_WORKER_SCRIPT.replace('fullPath + ".mjs"', 'fullPath + ".cjs"')
logs._subscription_pattern_matches = matches_filter
global_tables["update"] = update_in_place
api._OPENAPI_HTTP_METHODS.add(ANY_METHOD)
api._import_operation = import_whole_operation
api._import_rest_api = import_whole_rest_api

if __name__ == "__main__":
    sys.exit(main())
