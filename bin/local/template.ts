import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import * as z from 'zod';

const templateSchema = z.object({
  Resources: z.record(
    z.string(),
    z.object({
      Type: z.string(),
      Properties: z.record(z.string(), z.unknown()).default({}),
      Metadata: z.record(z.string(), z.unknown()).default({}),
    }),
  ),
});

export type Template = z.infer<typeof templateSchema>;

export const readTemplate = (folder: string): Template =>
  templateSchema.parse(JSON.parse(readFileSync(join(folder, 'IntentGate.template.json'), 'utf8')));

/** Parsed resources of a type, with their logical ids. */
export function resourcesOf<T extends z.ZodType>(template: Template, type: string, properties: T): [logicalId: string, z.output<T>][] {
  return Object.entries(template.Resources).flatMap(([id, resource]) =>
    resource.Type === type ? [[id, properties.parse(resource.Properties)]] : [],
  );
}

export const resourceIds = (template: Template, type: string): string[] => resourcesOf(template, type, z.unknown()).map(([id]) => id);

/** Local values of `Ref` and `Fn::GetAtt`, by logical id, then by `Ref` or the attribute's name. */
export type LocalValues = Record<string, Record<string, string>>;

const pseudoParameters: Record<string, string> = {
  'AWS::Region': 'eu-west-1',
  'AWS::AccountId': '000000000000',
  'AWS::Partition': 'aws',
  'AWS::URLSuffix': 'amazonaws.com',
  'AWS::StackName': 'IntentGate',
};

/**
 * Resolves a value of the template to a string: literals, Ref, Fn::GetAtt and Fn::Join, which are all that the CDK writes.
 * @throws TypeError naming the part without a local value
 */
function resolveText(value: unknown, values: LocalValues): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const [[intrinsic, argument] = ['', undefined]] = Object.entries(value ?? {});
  switch (intrinsic) {
    case 'Ref':
      return localValue(String(argument), values);
    case 'Fn::GetAtt':
      return localValue((argument as string[]).join('.'), values);
    case 'Fn::Join': {
      const [separator, parts] = argument as [string, unknown[]];
      return parts.map((part) => resolveText(part, values)).join(separator);
    }
    default:
      throw new TypeError(`the local stack does not support ${intrinsic || 'this kind of value'} in the template`);
  }
}

/** @param name - logical id, optionally followed by a dot and an attribute */
function localValue(name: string, values: LocalValues): string {
  const [id = '', attribute = 'Ref'] = name.split(/\.(.*)/);
  const value = attribute === 'Ref' && id.startsWith('AWS::') ? pseudoParameters[id] : values[id]?.[attribute];
  if (value === undefined) throw new TypeError(`the local stack has no ${attribute} of ${id}`);
  return value;
}

const functionProperties = z.object({
  Handler: z.string(),
  Timeout: z.number().default(3),
  MemorySize: z.number().default(128),
  Environment: z.object({ Variables: z.record(z.string(), z.unknown()) }).default({ Variables: {} }),
});

const assetFolder = (template: Template, id: string, folder: string): string =>
  join(folder, z.string().parse(template.Resources[id]?.Metadata['aws:asset:path']));

export type FunctionDefinition = ReturnType<typeof readFunction>;

/**
 * Reads a Lambda function's definition.
 * @param folder - the folder of the synthesized app
 * @param more - environment variables in addition to those in the template
 */
export function readFunction(template: Template, id: string, folder: string, values: LocalValues, more: Record<string, string> = {}) {
  const { Handler, Timeout, MemorySize, Environment } = functionProperties.parse(template.Resources[id]?.Properties);
  const environment = Object.entries(Environment.Variables).map(([name, value]) => [name, resolveText(value, values)] as const);
  return {
    name: id,
    folder: assetFolder(template, id, folder),
    /** file and export, for example `index.handler` */
    handler: Handler,
    environment: { ...Object.fromEntries(environment), ...more },
    timeoutMs: Timeout * 1_000,
    memoryMb: MemorySize,
  };
}

/** The logical id of a function in the endpoint table. */
export function functionIdOf(template: Template, name: string): string {
  const id = resourceIds(template, 'AWS::Lambda::Function').find((id) => id.startsWith(`${name.replaceAll('-', '')}Function`));
  if (id === undefined) throw new TypeError(`the template has no function ${name}`);
  return id;
}

export const bundleOf = (template: Template, folder: string, name: string): string =>
  join(assetFolder(template, functionIdOf(template, name), folder), 'index.cjs');

const tableProperties = z.object({
  KeySchema: z.array(z.object({ AttributeName: z.string(), KeyType: z.enum(['HASH', 'RANGE']) })),
  AttributeDefinitions: z.array(z.object({ AttributeName: z.string(), AttributeType: z.enum(['S', 'N', 'B']) })),
});

/** The inputs for creating the tables, by logical id. */
export const readTables = (template: Template): (CreateTableCommandInput & { TableName: string })[] =>
  resourcesOf(template, 'AWS::DynamoDB::GlobalTable', tableProperties).map(([id, properties]) => ({
    TableName: id,
    BillingMode: 'PAY_PER_REQUEST',
    ...properties,
  }));
