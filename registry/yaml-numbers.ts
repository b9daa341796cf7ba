import type { ScalarTag, Tags } from 'yaml';
import { isRawNumber, type RawNumber, toNumeric } from '../schemas/number.ts';

/** Converts a YAML 1.2 number to JSON syntax: no plus sign, leading zeros, or leading or trailing dot. */
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

/** Keeps member names as written. */
const exactName: ScalarTag = { tag: 'tag:yaml.org,2002:str', default: 'key', test: number, resolve: (source) => source };

/** Custom tags with which YAML parsers and writers keep every digit of numbers. */
export const withExactNumbers = (tags: Tags): Tags => [exactName, exactNumber, ...tags];
