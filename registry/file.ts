import { Document, stringify, visit } from 'yaml';
import * as z from 'zod';
import { replaceHidden, toPrintable, toPrintableJson } from '../client/printable.ts';
import { type IntentInput, intentInput } from '../schemas/intent.ts';
import { type ServiceInput, serviceInput } from '../schemas/service.ts';
import { foldName } from '../schemas/text.ts';
import { parseInput } from './input.ts';
import { withExactNumbers } from './yaml-numbers.ts';

export interface FileService {
  service: ServiceInput;
  intents: IntentInput[];
}

const registryFile = z
  .strictObject({
    registry: z.literal(1),
    services: z.array(serviceInput.extend({ intents: z.array(intentInput) })),
  })
  .superRefine(({ services }, context) => {
    const seen = new Set<string>();
    const names = new Set<string>();
    for (const [at, { intents, service_name }] of services.entries()) {
      if (names.has(foldName(service_name)))
        context.addIssue({ code: 'custom', path: ['services', at, 'service_name'], message: 'must not appear in the file twice' });
      names.add(foldName(service_name));
      for (const [place, { intent_uid }] of intents.entries()) {
        if (seen.has(intent_uid)) {
          const message = 'must not appear in the file twice';
          context.addIssue({ code: 'custom', path: ['services', at, 'intents', place, 'intent_uid'], message });
        }
        seen.add(intent_uid);
      }
    }
  });

/** @throws CliFailure `usage` with all issues */
export function readRegistryFile(document: unknown, name?: string): FileService[] {
  const message = `The file ${name === undefined ? '' : `${name} `}is not a valid registry file as written by "export":`;
  return parseInput(registryFile, document, message).services.map(({ intents, ...service }) => ({ service, intents }));
}

/** A service with its intents as a stream, because a large registry may not fit into memory. */
export interface ReadService {
  service: ServiceInput;
  intents: AsyncIterable<IntentInput> | Iterable<IntentInput>;
}

type Write = (services: AsyncIterable<ReadService> | Iterable<ReadService>) => AsyncGenerator<string>;

/** Avoids the flag `m`, which treats characters such as U+2028 as line breaks. */
const indent = (text: string, spaces: number): string => text.replace(/(^|\n)(?=[^\n])/g, `$1${' '.repeat(spaces)}`);

/** Does not fold lines, to keep diffs small; quotes strings that YAML 1.1 would read differently. */
function toYaml(value: unknown): string {
  const options = { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1', customTags: withExactNumbers } as const;
  const written = stringify(value, options);
  if (toPrintable(written) === written) return written;
  // hidden characters are written as escapes, which only double quotes allow
  const document = new Document(value, options);
  visit(document, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'string' && toPrintable(scalar.value) !== scalar.value) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return replaceHidden(document.toString(options), (one) => `\\U${(one.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`);
}

/** Write a registry file piece by piece. Equal registries give identical files. */
export const writers = {
  async *yaml(services) {
    yield '# The registry of an Intent Gate, written by "intent-gate export". Change it and run "intent-gate apply".\nregistry: 1\nservices:\n';
    let none = '  []\n';
    for await (const { service, intents } of services) {
      yield `${indent(toYaml([service]), 2)}    intents:\n`;
      none = '      []\n';
      for await (const intent of intents) {
        yield indent(toYaml([intent]), 6);
        none = '';
      }
      yield none;
      none = '';
    }
    yield none;
  },
  async *json(services) {
    yield '{\n  "registry": 1,\n  "services": [';
    let end = '';
    for await (const { service, intents } of services) {
      yield `${end && ','}\n${indent(toPrintableJson(service, 2), 4).slice(0, -6)},\n      "intents": [`;
      end = '';
      for await (const intent of intents) {
        yield `${end && ','}\n${indent(toPrintableJson(intent, 2), 8)}`;
        end = '\n      ';
      }
      yield `${end}]\n    }`;
      end = '\n  ';
    }
    yield `${end}]\n}\n`;
  },
} satisfies Record<string, Write>;
