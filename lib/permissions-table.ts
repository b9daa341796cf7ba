import type { Needs } from './endpoints/needs.ts';
import { backgroundFunctions, backgroundWithCollection, endpoints, hasFunction } from './endpoints.ts';
import { type Permission, permissionsOf } from './permissions.ts';

const introduction = `# Permissions

<!-- Written by "npm run permissions" from lib/endpoints.ts; a test compares the two. -->

Every function has a role of its own, which may write its own log group, send traces to X-Ray, and do what its rows say. API Gateway's role may run the functions of the endpoints. *Partitions* are the partition keys that an action may
touch (\`dynamodb:LeadingKeys\`). No function may \`Scan\` a table.

Four permissions have a wildcard: traces and the account's limits, which are no resources, and snapshots and secrets of services, whose names are not known beforehand. With the setting \`vpc\`, Lambda connects functions to the network with
their roles; the functions themselves are denied all of EC2.

Only the policy of a signing key can allow signing, and it names only the functions that issue PATs. Guard the rights to replace that policy (\`kms:PutKeyPolicy\`) or the code of such a function, and to pass on its role.

`;

const code = (text: string): string => `\`${text}\``;

const line = ({ actions, on, partitions, why }: Permission, label: string): string =>
  `| ${label} | ${actions.map(code).join(' ')} | ${on} | ${(partitions ?? []).map(code).join(' ')} | ${why} |`;

export function renderPermissions(): string {
  const standard = [...endpoints.filter(hasFunction), ...backgroundFunctions];
  const withCollection = endpoints.flatMap(({ name, needsWithCollection: needs }) => (needs ? [{ name, needs }] : []));
  return [
    introduction + renderTable(standard),
    'If the setting `search` is `opensearch`, these rows replace those of the same name and of `snapshot-search-index`:\n',
    renderTable([...withCollection, ...backgroundWithCollection]),
  ].join('\n');
}

function renderTable(functions: readonly { name: string; needs: Needs; onlyWith?: string }[]): string {
  const rows = functions.flatMap(({ name, needs, onlyWith }) => {
    const permissions = permissionsOf(needs);
    const label = code(name) + (onlyWith === undefined ? '' : ` *${onlyWith}*`);
    if (permissions.length === 0) return [`| ${label} | none | | | |`];
    return permissions.map((permission, index) => line(permission, index === 0 ? label : ''));
  });
  return `| function | actions | on | partitions | why |\n|---|---|---|---|---|\n${rows.join('\n')}\n`;
}
