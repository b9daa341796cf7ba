import { concerns, type JudgedIntent } from '../../functions/core/policy/conditions.ts';
import { namesIntent } from '../../functions/core/policy/judge.ts';
import type { Rule } from '../../functions/core/policy/reading.ts';
import { editDistance } from '../../functions/core/runtime/edit-distance.ts';
import type { Issue } from '../../schemas/errors.ts';
import type { IntentInput } from '../../schemas/intent.ts';
import { foldName, foldTag } from '../../schemas/text.ts';

export interface KnownIntent extends JudgedIntent {
  parameters: readonly string[];
  /** if it has been read in full */
  definition?: Pick<IntentInput, 'endpoint' | 'input_parameters'>;
}

/** The names that a policy may refer to. */
export interface KnownNames {
  intents: readonly KnownIntent[];
  services: readonly { service_id?: string | undefined; service_name: string }[];
}

/**
 * Finds unknown names of intents, namespaces, parameters, tags and services in a policy. A rule about one has no effect, so a misspelt prohibition
 * prohibits nothing.
 */
export function findUnknownNames(rules: readonly Rule[], { intents, services }: KnownNames): Issue[] {
  const uids = intents.map(({ intentUid }) => intentUid);
  const namespaces = [...new Set(uids.map((uid) => uid.split(':')[0] ?? ''))];
  const tags = [...new Set(intents.flatMap(({ tags: some = [] }) => some))];

  const ofRule = (rule: Rule): Issue[] => {
    const [namespace = '', slug] = rule.entry.split(':');
    const covered = intents.filter(({ intentUid }) => namesIntent(rule, intentUid));
    if (covered.length === 0 && namespace !== '*') {
      const target = { path: `${rule.pointer}/target` };
      return slug === '*'
        ? [{ ...target, problem: describeUnknown('namespace', namespace, namespaces) }]
        : [{ ...target, problem: describeUnknown('intent', rule.entry.replace(/:execute$/, ''), uids) }];
    }
    return rule.conditions.flatMap((condition): Issue[] => {
      const { pointer, subject, values } = condition;
      const unknown = (kind: string, of: readonly string[], isKnown: (value: string) => boolean) =>
        values
          .map(String)
          .flatMap((value) => (isKnown(value) ? [] : [{ path: `${pointer}/rightOperand`, problem: describeUnknown(kind, value, of) }]));
      if (subject.of === 'tag') return unknown('tag', tags, (value) => tags.some((tag) => foldTag(tag) === foldTag(value)));
      if (subject.of === 'service') {
        const names = services.map(({ service_name }) => service_name);
        return unknown('service', names, (value) =>
          services.some(({ service_id, service_name }) => service_id === value || foldName(service_name) === foldName(value)),
        );
      }
      if (subject.of !== 'parameter') return [];
      const path = `${pointer}/leftOperand`;
      const owners = covered.filter(({ intentUid }) => concerns(condition, intentUid));
      if (owners.length === 0) return subject.uid === undefined ? [] : [{ path, problem: describeUnknown('intent', subject.uid, uids) }];
      const known = [...new Set(owners.flatMap(({ parameters }) => parameters))];
      return known.includes(subject.name) ? [] : [{ path, problem: describeUnknown('parameter', subject.name, known) }];
    });
  };
  return rules.flatMap(ofRule);
}

export function describeUnknown(kind: string, name: string, of: readonly string[]): string {
  const near = findNearest(name, of);
  return `names the ${kind} ${JSON.stringify(name)}, which does not exist${near === undefined ? '' : `; the nearest is ${JSON.stringify(near)}`}`;
}

export function findNearest(name: string, of: readonly string[]): string | undefined {
  const distances = of.map((other) => ({ other, distance: editDistance(name.toLowerCase(), other.toLowerCase()) }));
  return distances.toSorted((a, b) => a.distance - b.distance)[0]?.other;
}
