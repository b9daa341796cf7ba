import { join } from 'node:path';
import { CfnOutput, Stack, Stage } from 'aws-cdk-lib';
import { Code, type Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { Admins } from './admins.ts';
import { Api } from './api.ts';
import { bundleFunctions, isComplete } from './bundle.ts';
import { EndpointFunction } from './endpoint-function.ts';
import { endpoints as allEndpoints } from './endpoints.ts';
import { environmentOf } from './environment.ts';
import { statementsFor } from './permissions.ts';
import { readPolicy } from './policy.ts';
import type { Settings } from './settings.ts';
import { createSigningKeys } from './signing-keys.ts';
import { createTable } from './table.ts';

/** The whole service: one Lambda for each row of the endpoint table, behind one API. */
export class IntentGate extends Stack {
  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id, {
      stackName: settings.stage === 'production' ? 'IntentGate' : `IntentGate-${settings.stage}`,
      description: `Intent Gate (${settings.stage})`,
    });
    const endpoints = allEndpoints.filter(({ name }) => isComplete(name));
    const codeOf = this.bundle(
      endpoints.map(({ name, needs }) => ({ name, hasPolicy: needs.policy === true })),
      readPolicy(settings.policyFile),
    );
    const table = createTable(this, settings);
    const [newestKey, ...olderKeys] = createSigningKeys(this, settings);
    const admins = new Admins(this, 'Admins', settings);
    const resources = {
      tableArn: table.tableArn,
      signingKeyArns: [newestKey.keyArn, ...olderKeys.map(({ keyArn }) => keyArn)] as [string, ...string[]],
    };
    const parts = {
      tableName: table.tableName,
      signingKeyArns: resources.signingKeyArns,
      userPoolId: admins.pool.userPoolId,
      adminClientIds: [admins.people.userPoolClientId, admins.machines.userPoolClientId],
      adminScope: admins.scope,
    };
    const functions = new Map<string, LambdaFunction>();
    for (const endpoint of endpoints) {
      const { lambda } = new EndpointFunction(this, endpoint.name, {
        ...endpoint,
        code: codeOf(endpoint.name),
        environment: environmentOf(endpoint, settings, parts),
        statements: statementsFor(endpoint.needs, resources),
        settings,
      });
      functions.set(endpoint.name, lambda);
    }
    const api = new Api(this, 'Api', endpoints, functions, settings);

    const url = settings.publicBaseUrl ?? api.rest.url.replace(/\/$/, '');
    this.addOutput('ApiUrl', url, 'Base URL of the API');
    this.addOutput('JwksUrl', `${url}/.well-known/jwks.json`, 'Public keys that verify PATs');
    this.addOutput('UserPoolId', admins.pool.userPoolId, 'Where admins are managed');
    this.addOutput('AdminClientId', admins.people.userPoolClientId, 'App client with which people get admin tokens');
    this.addOutput('TableName', table.tableName, 'The DynamoDB table');
  }

  /** Bundles the functions beside the template, unless this synthesis goes without (context `aws:cdk:bundling-stacks`). */
  private bundle(functions: { name: string; hasPolicy: boolean }[], policy: string): (name: string) => Code {
    if (!this.bundlingRequired) return () => Code.fromInline('// synthesized without bundling');
    const folder = join(Stage.of(this)?.outdir ?? 'cdk.out', 'dist');
    bundleFunctions(functions, folder, policy);
    return (name) => Code.fromAsset(join(folder, name));
  }

  private addOutput(name: string, value: string, description: string): void {
    new CfnOutput(this, name, { value, description });
  }
}
