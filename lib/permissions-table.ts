import { endpoints, type Needs, scheduledFunctions, scheduledWithCollection } from './endpoints.ts';
import { type Permission, permissionsOf } from './permissions.ts';

const introduction = (scanning: readonly string[]) => `# Permissions

<!-- Written by "npm run permissions" from lib/endpoints.ts; a test compares the two. -->

Every function has a role of its own. It may write its own log group, send traces to X-Ray, and do what its row says; nothing else.
*Partitions* are the partition keys of the table that an action may touch (IAM condition \`dynamodb:LeadingKeys\`).

Three permissions hold a wildcard: traces (X-Ray has no resources to name), snapshots of the search index and secrets of services
(their names are not known when the stack is made). Reading the whole table (\`Scan\`) is for ${scanning.map(code).join(', ')};
IAM cannot narrow it to partitions.

Signing keys leave signing to no policy but their own, which names the role of
the function that issues PATs. So nobody else in the account can sign one, whatever else they may do.

`;

const code = (text: string): string => `\`${text}\``;

const line = ({ actions, on, partitions, why }: Permission, label: string): string =>
  `| ${label} | ${actions.map(code).join(' ')} | ${on} | ${(partitions ?? []).map(code).join(' ')} | ${why} |`;

/** The text of docs/permissions.md. */
export function renderPermissions(): string {
  const standard = [...endpoints, ...scheduledFunctions];
  const withCollection = endpoints.flatMap(({ name, needsWithCollection: needs }) => (needs ? [{ name, needs }] : []));
  const scanning = [...standard, ...scheduledWithCollection].filter(({ needs }) => needs.scan).map(({ name }) => name);
  return [
    introduction(scanning) + renderTable(standard),
    'If the setting `search` is `opensearch`, these replace the functions of the same name and `snapshot-search-index`:\n',
    renderTable([...withCollection, ...scheduledWithCollection]),
  ].join('\n');
}

function renderTable(functions: readonly { name: string; needs: Needs }[]): string {
  const rows = functions.flatMap(({ name, needs }) => {
    const permissions = permissionsOf(needs);
    if (permissions.length === 0) return [`| ${code(name)} | none | | | |`];
    return permissions.map((permission, index) => line(permission, index === 0 ? code(name) : ''));
  });
  return `| function | actions | on | partitions | why |\n|---|---|---|---|---|\n${rows.join('\n')}\n`;
}
