import { isMap, isScalar, isSeq, type Scalar, type YAMLMap } from 'yaml';

/** Members of a schema that are a value of it, or a list of values. */
const valueMembers = ['const', 'default', 'example', 'enum', 'examples'] as const;

const combinations = ['allOf', 'anyOf', 'oneOf'] as const;

/**
 * Gives unquoted values their spelling back where a schema, or the address of a server, says that they are strings: YAML reads 001 as 1, and True as
 * true. A null stays one.
 * @param isText - whether an enclosing schema says string
 */
export function keepSpelling(schema: YAMLMap, isText = false): void {
  const isString = isText || saysString(schema) || branchesOf(schema, 'allOf').some(saysString);
  for (const name of valueMembers) {
    const value = schema.get(name, true);
    const isList = name === 'enum' || name === 'examples';
    for (const one of isList && isSeq(value) ? value.items : [value]) spell(one, schema, isString);
  }
  if (isString)
    for (const branch of combinations.flatMap((name) => branchesOf(schema, name))) if (!branch.has('type')) keepSpelling(branch, true);
  const variables = schema.get('variables', true);
  if (schema.has('url') && isMap(variables)) for (const { value } of variables.items) if (isMap(value)) keepSpelling(value, true);
}

function spell(value: unknown, schema: unknown, isString = saysString(schema)): void {
  const member = (name: string): unknown => (isMap(schema) ? schema.get(name, true) : undefined);
  const ofMember = (name: unknown): unknown => {
    const properties = member('properties');
    return (isMap(properties) && properties.get(name, true)) || member('additionalProperties');
  };
  // a list may state the values of its items
  if (isScalar(value) && (isString || saysString(member('items')))) restore(value);
  else if (isSeq(value)) for (const item of value.items) spell(item, member('items'));
  else if (isMap(value)) for (const pair of value.items) spell(pair.value, ofMember(isScalar(pair.key) ? pair.key.value : pair.key));
}

function restore(scalar: Scalar): void {
  if (scalar.source !== undefined && scalar.value !== null && typeof scalar.value !== 'string') scalar.value = scalar.source;
}

const branchesOf = (schema: YAMLMap, name: (typeof combinations)[number]): YAMLMap[] => {
  const branches = schema.get(name, true);
  return isSeq(branches) ? branches.items.filter((branch) => isMap(branch)) : [];
};

/** Whether the only type of a schema, besides null, is string. */
function saysString(schema: unknown): boolean {
  const type = isMap(schema) ? schema.get('type') : undefined;
  const types = isSeq(type) ? type.items.map((item) => (isScalar(item) ? item.value : item)) : [type];
  return types.includes('string') && types.every((one) => one === 'string' || one === 'null' || one === null);
}
