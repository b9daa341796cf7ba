import type { Needs } from '../lib/endpoints/needs.ts';
import { alternatives, backgroundFunctions, endpoints, endpointsWith, hasFunction } from '../lib/endpoints.ts';
import type { Permission } from '../lib/permission.ts';
import { permissionsOf } from '../lib/permissions.ts';

const introduction = `# Permissions

<!-- Written by "npm run permissions" from lib/endpoints.ts; a test compares the two. -->

Every function has its own role, which may write to its log group, send traces to X-Ray, and perform the actions in its rows. API Gateway's role may invoke \`admit-token\` and the endpoints' functions. *Partitions* are the partition keys that an action may
access (\`dynamodb:LeadingKeys\`). No function may \`Scan\` a table.

Wildcards are needed for traces and account limits, which are not resources, and for snapshots, the log of receipts, secrets of services and aliases of \`execute-intent\` and \`issue-pat\`, whose names are not known in advance. With \`vpc\`, Lambda uses the roles to
connect functions to the network; their code is denied all of EC2.

Only the policy of a signing key can allow signing, and it allows only the functions that issue PATs. Guard the rights to replace that policy (\`kms:PutKeyPolicy\`), to change the code of such a function, and to pass its role.

`;

const code = (text: string): string => `\`${text}\``;

const line = ({ actions, on, partitions, why }: Permission, label: string): string =>
  `| ${label} | ${actions.map(code).join(' ')} | ${on} | ${(partitions ?? []).map(code).join(' ')} | ${why} |`;

export function renderPermissions(): string {
  const standard = renderTable([...endpoints.filter(hasFunction), ...backgroundFunctions]);
  const hidden = { setting: 'catalogue', value: 'permitted', replaces: [], background: [] };
  const others = [...alternatives, hidden].flatMap(({ setting, value, replaces, background }) => {
    const changed = endpointsWith({ [setting]: value }).filter(({ name, needs }) => {
      const usual = endpoints.find((endpoint) => endpoint.name === name)?.needs;
      return JSON.stringify(needs) !== JSON.stringify(usual);
    });
    const also = replaces.map((name) => ` and of ${code(name)}`).join('');
    return [
      `With \`${setting}: ${value}\`, these rows replace those of the same functions${also}:\n`,
      renderTable([...changed, ...background]),
    ];
  });
  return [introduction + standard, ...others].join('\n');
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
