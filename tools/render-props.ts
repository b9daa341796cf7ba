import * as z from 'zod';
import { settingsObject } from '../lib/settings/options.ts';
import { describeSettings } from '../lib/settings.ts';

/** Settings that apply only to the project's own stack or local stage, or that constructs replace. */
const ownSettings = ['policyFile', 'tags', 'allowLoopback', 'localUpstreams', 'hostedZoneId', 'hostedZoneName', 'vpc'];

/** The settings as the TypeScript source of an interface with a comment for each property, because editors show no descriptions of inferred types. */
export function renderProps(): string {
  const properties = describeSettings().flatMap(({ name, fallback }) => {
    const schema = settingsObject.shape[name as keyof typeof settingsObject.shape];
    return ownSettings.includes(name) ? [] : [`  /** ${commentOf(schema, fallback)} */\n  ${name}?: ${typeOf(schema)};\n`];
  });
  return `// Written by "npm run props" from lib/settings/options.ts; a test compares the two.

/** The settings of a gate as properties of the construct. All are optional. */
export interface GateSettings {
${properties.join('')}}
`;
}

/** The description without its links, the range, and the default. */
function commentOf(schema: z.ZodType, fallback: string): string {
  const text = (schema.description ?? '')
    .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .replace('`hostedZoneId` and `hostedZoneName`', '`hostedZone`');
  const { minimum, maximum } = (schema instanceof z.ZodDefault ? (schema.def.innerType as z.ZodType) : schema).meta() ?? {};
  const range = minimum === undefined ? '' : ` From ${minimum} to ${maximum}.`;
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.${range}${fallback && ` Default: ${fallback}.`}`;
}

/** The type of a parsed value. Alternatives that only convert text of the command line are left out. */
function typeOf(schema: z.ZodType): string {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return typeOf(schema.def.innerType as z.ZodType);
  if (schema instanceof z.ZodPipe) {
    const { in: input, out } = schema.def;
    return typeOf((input instanceof z.ZodTransform ? out : input) as z.ZodType);
  }
  if (schema instanceof z.ZodUnion) {
    const options = schema.options as z.ZodType[];
    return options
      .filter((option) => !(option instanceof z.ZodPipe))
      .map(typeOf)
      .join(' | ');
  }
  if (schema instanceof z.ZodEnum) return schema.options.map((option) => `'${option}'`).join(' | ');
  if (schema instanceof z.ZodArray) return `${typeOf(schema.element as z.ZodType)}[]`;
  if (schema instanceof z.ZodRecord) {
    const [key, value] = [schema.keyType, typeOf(schema.valueType as z.ZodType)];
    // Only a few names are worth listing.
    const isShort = key instanceof z.ZodEnum && key.options.length < 10;
    return isShort ? `{ [name in ${typeOf(key)}]?: ${value} }` : `Record<string, ${value}>`;
  }
  if (schema instanceof z.ZodObject) {
    const members = Object.entries(schema.shape as Record<string, z.ZodType>);
    return `{ ${members.map(([name, member]) => `${name}${member instanceof z.ZodOptional ? '?' : ''}: ${typeOf(member)}`).join('; ')} }`;
  }
  if (schema instanceof z.ZodString || schema instanceof z.ZodEmail) return 'string';
  if (schema instanceof z.ZodNumber) return 'number';
  if (schema instanceof z.ZodBoolean) return 'boolean';
  throw new TypeError(`no type is known for a schema of the kind ${schema.def.type}`);
}
