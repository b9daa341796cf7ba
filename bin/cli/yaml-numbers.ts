import type { ScalarTag, Tags } from 'yaml';
import { isRawNumber, type RawNumber, toNumeric } from '../../schemas/number.ts';

/** A number of YAML 1.2 as JSON writes it, which has neither a plus sign nor zeros or a dot at either end. */
const asJson = (source: string): string =>
  source
    .replace(/^\+/, '')
    .replace(/^(-?)0+(?=\d)/, '$1')
    .replace(/^(-?)\./, '$10.')
    .replace(/\.(?=e|$)/i, '');

const number = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:e[-+]?[0-9]+)?$/i;

const exactNumber: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  test: number,
  resolve: (source) => toNumeric(asJson(source)),
  identify: isRawNumber,
  stringify: ({ value }) => (value as RawNumber).rawJSON,
};

/** The name of a member is a text, as it is written. */
const exactName: ScalarTag = { tag: 'tag:yaml.org,2002:str', default: 'key', test: number, resolve: (source) => source };

/** For the option of YAML readers and writers: numbers keep every digit, as {@link RawNumber} has it. */
export const withExactNumbers = (tags: Tags): Tags => [exactName, exactNumber, ...tags];
