import { stringify } from 'yaml';
import * as z from 'zod';
import { issuesOf } from '../../../functions/core/json.ts';
import { type IntentInput, intentInput } from '../../../schemas/intent.ts';
import { type ServiceInput, serviceInput } from '../../../schemas/service.ts';
import { usageFailure } from '../failure.ts';

/** A service and its intents, as a registry file says they should be. */
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
    for (const [at, { intents }] of services.entries()) {
      for (const [place, { intent_uid }] of intents.entries()) {
        if (seen.has(intent_uid)) {
          const message = 'must not appear in the file twice';
          context.addIssue({ code: 'custom', path: ['services', at, 'intents', place, 'intent_uid'], message });
        }
        seen.add(intent_uid);
      }
    }
  });

/** @throws CliFailure `usage` with every place at once */
export function readRegistryFile(document: unknown): FileService[] {
  const { success, data, error } = registryFile.safeParse(document, { reportInput: true });
  if (success) return data.services.map(({ intents, ...service }) => ({ service, intents }));
  throw usageFailure('The file is not a registry file as written by "export". Correct these places:', issuesOf(error));
}

export type FileFormat = 'yaml' | 'json';

/** Writes a registry file piece by piece, so that a large registry need not fit into memory. Equal registries give equal files. */
export interface FileWriter {
  begin(): string;
  service(service: ServiceInput): string;
  intent(intent: IntentInput): string;
  end(): string;
}

const indent = (text: string, spaces: number): string => text.replace(/^(?=.)/gm, ' '.repeat(spaces));

/** No folding: a line that changes is one line in a review. Anything that YAML 1.1 would read as something else is quoted. */
const toYaml = (value: unknown): string => stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1' });

function writeYaml(): FileWriter {
  let hasService = false;
  let hasIntent = true;
  const close = () => (hasIntent ? '' : '      []\n');
  return {
    begin: () =>
      '# The registry of an Intent Gate, written by "intent-gate export". Change it and run "intent-gate apply".\nregistry: 1\nservices:\n',
    service(service) {
      const before = close();
      [hasService, hasIntent] = [true, false];
      return `${before}${indent(toYaml([service]), 2)}    intents:\n`;
    },
    intent(intent) {
      hasIntent = true;
      return indent(toYaml([intent]), 6);
    },
    end: () => (hasService ? close() : '  []\n'),
  };
}

function writeJson(): FileWriter {
  let serviceCount = 0;
  let intentCount = 0;
  const close = () => (serviceCount === 0 ? '' : `${intentCount === 0 ? '' : '\n      '}]\n    }`);
  return {
    begin: () => '{\n  "registry": 1,\n  "services": [',
    service(service) {
      const before = `${close()}${serviceCount++ === 0 ? '' : ','}`;
      intentCount = 0;
      return `${before}\n${indent(JSON.stringify(service, null, 2), 4).slice(0, -6)},\n      "intents": [`;
    },
    intent: (intent) => `${intentCount++ === 0 ? '' : ','}\n${indent(JSON.stringify(intent, null, 2), 8)}`,
    end: () => `${close()}${serviceCount === 0 ? '' : '\n  '}]\n}\n`,
  };
}

export const openFileWriter = (format: FileFormat): FileWriter => (format === 'json' ? writeJson() : writeYaml());
