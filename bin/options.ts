import { InvalidArgumentError, Option } from '@commander-js/extra-typings';

/** Adds a pair such as `name=value` to those of earlier options. */
function addPair(text: string, others: Record<string, string> = {}): Record<string, string> {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError('It must be <name>=<value>, for example protocol=uim.');
  return { ...others, [name]: value };
}

export const settingOption = new Option('-c, --context <name=value>', 'a setting, as for "cdk deploy"; repeatable')
  .argParser(addPair)
  .default({} as Record<string, string>, 'those in cdk.json');
